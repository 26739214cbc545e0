from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.core import clock, ids
from chalicelib.core.dynamo import Table
from chalicelib.core.settings import settings
from chalicelib.delivery.store.journal import Journal, TableJournal, open_journal
from chalicelib.delivery.store.journal_files import (
    KEEP_SECONDS,
    ROOM,
    Entry,
    FileJournal,
    forget_completed,
    remove_stale,
)
from chalicelib.delivery.store.work_units import WorkUnit
from tests.fake_cloud import aws_requests
from tests.unit.moving_clock import moving_clock

UNIT = WorkUnit("191930000000000001", "0")
ENTRY = {
    "at": 1_769_850_000_123,
    "outcome": {"outcome": "delivered", "reply": "é \u2028", "x": None},
}

Open = Callable[[WorkUnit], Journal]


@pytest.fixture(params=["file", "table"])
def reopen(request: pytest.FixtureRequest, cloud: None, tmp_path: Path) -> Open:
    """Opens the journal of a unit, as each worker that takes the unit over does."""
    if request.param == "table":
        return TableJournal
    return lambda unit: FileJournal(tmp_path / "not yet there", unit)


def recorded(journal: Journal) -> dict[int, Entry]:
    """Return the entries that a worker finds when it takes the unit over."""
    return journal.entries(first=False)


@pytest.mark.parametrize("first", [True, False])
def test_a_new_journal_is_empty(reopen: Open, first: bool) -> None:
    assert reopen(UNIT).entries(first=first) == {}


def test_entries_survive_a_crash(reopen: Open) -> None:
    crashed = reopen(UNIT)
    crashed.record(7, ENTRY)
    crashed.record(100_000, ENTRY | {"at": 2})
    assert recorded(reopen(UNIT)) == {7: ENTRY, 100_000: ENTRY | {"at": 2}}


def test_a_worker_that_takes_over_continues_the_same_journal(reopen: Open) -> None:
    reopen(UNIT).record(1, ENTRY)
    second = reopen(UNIT)
    recorded(second)
    second.record(2, ENTRY)
    assert sorted(recorded(reopen(UNIT))) == [1, 2]


def test_the_last_of_two_entries_counts(reopen: Open) -> None:
    journal = reopen(UNIT)
    journal.record(1, {"at": 1})
    journal.record(1, {"at": 2})
    assert recorded(reopen(UNIT)) == {1: {"at": 2}}


def test_entries_are_read_in_the_order_of_sending(reopen: Open) -> None:
    journal = reopen(UNIT)
    for index in range(12):
        journal.record(index, ENTRY)
    assert list(recorded(reopen(UNIT))) == list(range(12))


def test_units_do_not_see_each_others_entries(reopen: Open) -> None:
    others = [
        UNIT.deferred,
        UNIT.continued,
        WorkUnit(UNIT.transmission_id, "00"),
        WorkUnit("19193", "0"),
    ]
    for number, unit in enumerate([UNIT, *others]):
        reopen(unit).record(number, ENTRY)
    for number, unit in enumerate([UNIT, *others]):
        assert list(recorded(reopen(unit))) == [number]


def test_a_journal_closed_before_completion_keeps_its_entries(reopen: Open) -> None:
    journal = reopen(UNIT)
    journal.record(1, ENTRY)
    journal.close(completed=False)
    assert recorded(reopen(UNIT)) == {1: ENTRY}


class TestFileJournal:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "191930000000000001-0.jsonl"

    @pytest.mark.parametrize("torn", [b"[", b'[2,{"at":1}]', b"\xff\x00", b"[2,{}]\r"])
    def test_a_last_line_that_is_cut_short_was_never_recorded(
        self, torn: bytes, path: Path
    ) -> None:
        FileJournal(path.parent, UNIT).record(1, ENTRY)
        content = path.read_bytes()
        path.write_bytes(content + torn)
        second = FileJournal(path.parent, UNIT)
        assert recorded(second) == {1: ENTRY}
        assert path.read_bytes() == content
        second.record(2, ENTRY)
        assert recorded(FileJournal(path.parent, UNIT)) == {1: ENTRY, 2: ENTRY}

    def test_a_file_with_nothing_but_a_torn_line_is_empty(self, path: Path) -> None:
        path.write_bytes(b"[1,{")
        assert recorded(FileJournal(path.parent, UNIT)) == {}
        assert path.read_bytes() == b""

    def test_a_damaged_line_costs_its_own_entries_only(self, path: Path) -> None:
        path.write_bytes(b'[1,{"at":1}]\n[2,{"a[3,{"at":3}]\n[4,{"at":4}]\n')
        assert recorded(FileJournal(path.parent, UNIT)) == {1: {"at": 1}, 4: {"at": 4}}

    def test_each_entry_is_one_line_written_at_once(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        journal = FileJournal(path.parent, UNIT)
        lines: list[bytes] = []
        write = os.write
        monkeypatch.setattr(os, "write", lambda file, line: lines.append(line) or write(file, line))
        journal.record(1, ENTRY | {"reply": "two\nlines"})
        assert len(lines) == 1
        assert lines[0].count(b"\n") == 1
        assert lines[0].endswith(b"\n")

    def test_a_full_disk_raises_an_error(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        journal = FileJournal(path.parent, UNIT)
        write = os.write
        monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:5]))
        with pytest.raises(OSError, match="full"):
            journal.record(1, ENTRY)
        monkeypatch.undo()
        assert recorded(FileJournal(path.parent, UNIT)) == {}

    def test_a_line_that_is_cut_short_costs_no_later_entry(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        journal = FileJournal(path.parent, UNIT)
        write = os.write
        with monkeypatch.context() as full:
            full.setattr(os, "write", lambda file, line: write(file, line[:5]))
            for _ in range(2):
                with pytest.raises(OSError, match="No space left"):
                    journal.record(0, ENTRY)
        journal.record(1, ENTRY)
        journal.record(0, ENTRY)
        assert recorded(FileJournal(path.parent, UNIT)) == {0: ENTRY, 1: ENTRY}

    def test_room_is_shown_before_a_message_is_sent(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        journal, free = FileJournal(path.parent, UNIT), [ROOM]
        monkeypatch.setattr(os, "fstatvfs", lambda _: SimpleNamespace(f_bavail=free[0], f_frsize=1))
        journal.reserve()
        free[0] -= 1
        with pytest.raises(OSError, match="No space left"):
            journal.reserve()

    def test_a_directory_that_cannot_be_made_is_an_error_before_a_message_is_sent(
        self, path: Path
    ) -> None:
        path.parent.joinpath("file").touch()
        with pytest.raises(OSError, match="exists"):
            FileJournal(path.parent / "file", UNIT).reserve()

    def test_a_worker_that_takes_over_needs_no_room(self, path: Path) -> None:
        directory = path.parent / "none"
        journal = FileJournal(directory, UNIT)
        assert recorded(journal) == {}
        journal.close(completed=True)
        assert not directory.exists()

    def test_several_threads_record_without_loss(self, path: Path) -> None:
        journal = FileJournal(path.parent, UNIT)
        begin = threading.Barrier(4)

        def work(first: int) -> None:
            begin.wait()
            for index in range(first, 40, 4):
                journal.record(index, ENTRY)

        threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(recorded(FileJournal(path.parent, UNIT))) == list(range(40))

    def test_the_journal_of_a_completed_unit_stays_for_a_while_in_which_the_service_runs(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # a cloud whose machine died may have lost the record that the unit was completed
        monkeypatch.setenv("DELIVERY_JOURNAL", str(path.parent))
        settings.cache_clear()
        with moving_clock(1e9) as time:
            for _ in range(2):
                journal = FileJournal(path.parent, UNIT)
                journal.record(1, ENTRY)
                journal.close(completed=True)
                assert FileJournal(path.parent, UNIT).entries(first=True) == {1: ENTRY}
            FileJournal(path.parent, UNIT).close(completed=True)
            assert remove_stale(time.now) == 0
            time.passes(KEEP_SECONDS - 1)
            assert remove_stale(time.now) == 0
            forget_completed()  # every process was killed, and the service starts an hour later
            time.passes(3600)
            assert remove_stale(time.now) == 0
            time.passes(KEEP_SECONDS)
            assert remove_stale(time.now) == 1
        assert list(path.parent.iterdir()) == []
        settings.cache_clear()

    def test_the_file_is_read_even_by_the_first_worker(self, path: Path) -> None:
        # the table may have lost its last seconds, and with them the lease of a worker
        FileJournal(path.parent, UNIT).record(1, ENTRY)
        assert FileJournal(path.parent, UNIT).entries(first=True) == {1: ENTRY}

    def test_only_its_owner_may_read_the_file(self, path: Path) -> None:
        FileJournal(path.parent, UNIT).reserve()
        assert path.stat().st_mode & 0o777 == 0o600


class TestTableJournal:
    @pytest.mark.cost
    def test_only_a_worker_that_takes_over_queries_the_table(self, cloud: None) -> None:
        TableJournal(UNIT).record(1, ENTRY)
        with aws_requests() as requests:
            assert TableJournal(UNIT).entries(first=True) == {}
        assert requests == []

    @pytest.mark.cost
    def test_an_entry_costs_one_request(self, cloud: None) -> None:
        with aws_requests() as requests:
            TableJournal(UNIT).record(1, ENTRY)
        assert [each.operation for each in requests] == ["PutItem"]

    def test_an_entry_expires_after_the_longest_life_of_a_message(self, cloud: None) -> None:
        with clock.use(lambda: 1_000_000.5):
            TableJournal(UNIT).record(1, ENTRY)
        item = Table("messages").get(f"transmission#{UNIT.transmission_id}", "sent#0#00000001")
        assert item is not None
        assert item["expires"] == 1_000_000 + 259_200 + 86_400

    def test_the_entries_of_each_chunk_are_in_a_partition_of_their_own(self, cloud: None) -> None:
        transmission = ids.transmission_id()
        for name in ("0", "7", "7d", "7dc"):
            TableJournal(WorkUnit(transmission, name)).record(1, ENTRY)
        partitions = [f"transmission#{transmission}", f"transmission#{transmission}#7"]
        items = [list(Table("messages").query_all("#pk = :pk", {"pk": pk})) for pk in partitions]
        assert [len(each) for each in items] == [1, 3]


def test_the_settings_choose_the_journal(
    cloud: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: list[Any] = [type(open_journal(UNIT))]
    monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path))
    settings.cache_clear()
    kinds.append(type(open_journal(UNIT)))
    assert kinds == [TableJournal, FileJournal]


def test_files_of_crashed_workers_are_removed_when_their_messages_have_expired(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DELIVERY_JOURNAL", str(tmp_path))
    settings.cache_clear()
    longest = settings().retry_expiry + 86_400
    old, young, other = tmp_path / "1-0.jsonl", tmp_path / "2-0.jsonl", tmp_path / "notes.txt"
    for path, age in ((old, longest + 1), (young, longest - 1), (other, longest + 1)):
        path.touch()
        os.utime(path, (1e9 - age,) * 2)
    assert remove_stale(1e9) == 1
    assert set(tmp_path.iterdir()) == {young, other}
    settings.cache_clear()
