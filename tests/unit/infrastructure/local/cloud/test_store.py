from __future__ import annotations

import asyncio
import errno
import gc
import random
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from infrastructure.local.cloud import store as stores
from infrastructure.local.cloud.store import (
    CannotStore,
    DamagedState,
    Store,
    Synchronization,
    check,
    create,
)

INSERT = "INSERT INTO documents VALUES (?, ?, ?, ?)"
ENTRIES = "SELECT entry FROM documents ORDER BY entry"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / stores.NAME
    create(path)
    return path


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    store = Store(path)
    yield store
    store.close()


def put(store: Store, entry: str, value: str = "") -> None:
    store.write(INSERT, ("service", "attribute", entry, value))


def entries(path: Path) -> list[str]:
    """Return what another connection sees."""
    connection = sqlite3.connect(path)
    try:
        return [row[0] for row in connection.execute(ENTRIES)]
    finally:
        connection.close()


def test_a_transaction_leaves_all_or_nothing(store: Store) -> None:
    with store.transaction():
        put(store, "first")
        put(store, "second")
        assert entries(store.path) == []
    with pytest.raises(ZeroDivisionError), store.transaction():  # noqa: PT012
        put(store, "third")
        raise ZeroDivisionError
    store.commit()
    assert entries(store.path) == ["first", "second"]


def test_a_transaction_does_not_take_back_what_was_written_before_it(store: Store) -> None:
    put(store, "before")
    with pytest.raises(ZeroDivisionError), store.transaction():  # noqa: PT012
        put(store, "within")
        raise ZeroDivisionError
    store.commit()
    assert entries(store.path) == ["before"]


def test_after_a_write_that_fails_the_whole_transaction_is_lost(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        put(store, "first")
        with pytest.raises(CannotStore):
            store.write("INSERT INTO missing VALUES (1)")
        put(store, "second")
        with pytest.raises(CannotStore, match="no such table"):
            store.commit()
    store.commit()
    assert entries(store.path) == []
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"the local cloud cannot write {store.path} (no such table")
    with store.transaction():
        put(store, "third")
    assert entries(store.path) == ["third"]


def test_a_new_database_has_all_that_it_is_filled_with_or_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / stores.NAME

    def fail(store: Store) -> None:
        put(store, "first")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        create(path, fail)
    assert not path.exists()
    create(path, lambda store: put(store, "second"))
    assert entries(path) == ["second"]
    assert path.stat().st_mode & 0o777 == 0o600
    check(path)


def test_a_log_without_its_database_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / stores.NAME
    log = Path(f"{path}-wal")
    log.write_bytes(b"the last commits")
    with pytest.raises(DamagedState) as damage:
        create(path)
    assert_is_one_helpful_line(damage.value, path, f"is missing, and {log.name} is there")
    assert log.read_bytes() == b"the last commits"
    assert not path.exists()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def truncate(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def overwrite_pages(path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 20_000] = random.Random(1).randbytes(20_000)
    path.write_bytes(content)


def be_of_another_program(path: Path) -> None:
    change(path, "PRAGMA application_id = 7")


def be_of_another_version(path: Path) -> None:
    change(path, f"PRAGMA user_version = {stores.VERSION - 1}")


def be_no_database(path: Path) -> None:
    path.write_bytes(b"no database" * 1_000)


def change(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    connection.close()


def assert_is_one_helpful_line(damage: DamagedState, path: Path, finding: str) -> None:
    line = str(damage)
    assert "\n" not in line
    assert line.startswith(f"{path} ")
    assert finding in line
    # A log that stays beside a copy of the database alone would damage it
    assert f"Nothing was changed. Restore all of {path.parent} from a copy, or move it" in line


def test_a_database_of_a_newer_version_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / stores.NAME
    stores.create(path)
    change(path, f"PRAGMA user_version = {stores.VERSION + 1}")
    with pytest.raises(DamagedState, match=r"newer version .* Install that version again"):
        stores.check(path)


@pytest.mark.parametrize(
    ("damage", "finding", "has_log"),
    [
        (empty, "is empty", False),
        (truncate, "is damaged (database disk image is malformed)", False),
        (truncate, "is damaged (*** in database main ***", True),
        (overwrite_pages, "is damaged (*** in database main ***", False),
        (overwrite_pages, "is damaged (*** in database main ***", True),
        (be_of_another_program, "is not a state of this version", False),
        (be_of_another_version, "is not a state of this version", False),
        (be_no_database, "is damaged (file is not a database)", False),
    ],
)
def test_a_damaged_database_is_refused_and_left_as_it_is(
    tmp_path: Path, damage: Callable[[Path], None], finding: str, has_log: bool
) -> None:
    source = tmp_path / "source"

    def fill(store: Store) -> None:
        for number in range(300):
            put(store, str(number), "x" * 1_000)

    create(source, fill)
    store = Store(source)
    with store.transaction():
        put(store, "in the log")
    if not has_log:
        store.close()
    path = copied(source, tmp_path / stores.NAME)
    damage(path)
    before = files_of(path)
    for _ in range(2):
        with pytest.raises(DamagedState) as error:
            check(path)
        assert_is_one_helpful_line(error.value, path, finding)
    del error
    gc.collect()
    assert files_of(path) == before
    store.close()


def copied(source: Path, path: Path) -> Path:
    """Copy what a killed process leaves behind."""
    for end in ("", "-wal"):
        if Path(f"{source}{end}").exists():
            shutil.copyfile(f"{source}{end}", f"{path}{end}")
    return path


def files_of(path: Path) -> list[bytes]:
    """Return the database and what its log has."""
    log = Path(f"{path}-wal")
    return [path.read_bytes(), log.read_bytes() if log.exists() else b""]


def test_what_is_only_in_the_log_is_checked_and_there_after_a_kill(
    store: Store, tmp_path: Path
) -> None:
    with store.transaction():
        put(store, "first")
    copy = copied(store.path, tmp_path / "copy")
    check(copy)
    assert entries(copy) == ["first"]


def test_those_who_wait_at_a_time_share_a_synchronization(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits: list[int] = []

    def synchronize(self: Store) -> None:
        commits.append(self.commits)
        time.sleep(0.02)

    monkeypatch.setattr(Store, "synchronize", synchronize)

    async def write_and_wait(synchronization: Synchronization, number: int) -> None:
        # Some of the writers come while a synchronization is at work
        await asyncio.sleep(0.01 * (number % 4))
        with store.transaction():
            put(store, str(number))
        own = store.commits
        await synchronization.wait()
        assert max(commits) >= own

    async def run() -> None:
        synchronization = Synchronization(store)
        await asyncio.gather(*(write_and_wait(synchronization, number) for number in range(80)))

    asyncio.run(run())
    assert len(commits) <= 8
    assert len(entries(store.path)) == 80


def test_everyone_who_waits_learns_that_the_disk_failed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Store) -> None:
        raise OSError(errno.EIO, "the disk failed")

    async def results() -> list[BaseException | None]:
        synchronization = Synchronization(store)
        waits = (synchronization.wait() for _ in range(5))
        failures = await asyncio.gather(*waits, return_exceptions=True)
        monkeypatch.undo()
        return [*failures, await synchronization.wait()]

    commit_something(store)
    monkeypatch.setattr(Store, "synchronize", fail)
    *failures, last = asyncio.run(results())
    assert [type(each) for each in failures] == [OSError] * 5
    assert last is None


def test_nobody_waits_for_what_is_on_the_disk(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Store] = []
    synchronize = Store.synchronize

    def count(self: Store) -> None:
        calls.append(self)
        synchronize(self)

    async def wait_twice() -> None:
        synchronization = Synchronization(store)
        for _ in range(2):
            commit_something(store)
            await synchronization.wait()
            await synchronization.wait()

    monkeypatch.setattr(Store, "synchronize", count)
    asyncio.run(wait_twice())
    assert len(calls) == 2


def commit_something(store: Store) -> None:
    with store.transaction():
        store.write(
            "INSERT INTO queues (account, region, url) VALUES ('a', 'r', hex(randomblob(8)))"
        )


def test_a_synchronization_that_failed_is_repeated_without_another_commit(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = [OSError(errno.EIO, "the disk failed"), None, None]
    calls: list[int] = []

    def synchronize(self: Store) -> None:
        calls.append(self.commits)
        if error := outcomes[len(calls) - 1]:
            raise error

    async def keep() -> None:
        with store.transaction():
            put(store, "first")
        with suppress(TimeoutError):
            await asyncio.wait_for(Synchronization(store).keep(0.01), 0.3)

    monkeypatch.setattr(Store, "synchronize", synchronize)
    asyncio.run(keep())
    assert calls == [store.commits] * 2


def size(path: Path) -> int:
    return path.stat().st_size


def test_space_is_used_again_and_given_back_while_the_database_is_in_use(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_FREE_PAGES", 100)

    def fill() -> int:
        with store.transaction():
            for number in range(1_000):
                put(store, str(number), "x" * 4_000)
        return int(store.read("PRAGMA page_count").fetchone()[0])

    pages = fill()
    assert not store.has_much_free()
    with store.transaction():
        store.write("DELETE FROM documents")
    assert fill() <= pages * 1.01
    with store.transaction():
        store.write("DELETE FROM documents WHERE entry != '7'")
    assert store.has_much_free()
    while store.give_back():
        with store.transaction():
            put(store, f"at {store.commits}")
    assert not store.has_much_free()
    monkeypatch.setattr(stores, "_COPY_SIZE", 0)
    store.copy_log()
    assert size(store.path) < pages * 4_096 / 10
    assert "7" in entries(store.path)


@pytest.mark.parametrize("shorten", [Store.copy_log, Store.shorten_log])
def test_the_log_does_not_grow_without_bound_under_writes(
    store: Store, shorten: Callable[[Store], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_COPY_SIZE", 1_000_000)
    monkeypatch.setattr(stores, "_LARGEST_LOG", 1_000_000)
    log = Path(f"{store.path}-wal")
    largest = 0
    for number in range(300):
        with store.transaction():
            put(store, str(number), "x" * 50_000)
        largest = max(largest, size(log))
        if number % 10 == 9:
            shorten(store)
    assert 1_000_000 < largest < 3_000_000
    assert len(entries(store.path)) == 300


def test_nobody_waits_for_a_reader_when_the_log_is_shortened(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "_LARGEST_LOG", 0)
    monkeypatch.setattr(stores, "_PATIENCE", 3_600)
    put(store, "before")
    store.commit()
    reader = sqlite3.connect(store.path, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute(ENTRIES).fetchall() == [("before",)]
    put(store, "meanwhile")
    store.commit()
    # The first call sets the patience with which the second one would wait for hours
    store.shorten_log()
    thread = threading.Thread(target=store.shorten_log, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert reader.execute(ENTRIES).fetchall() == [("before",)]
    reader.close()
    put(store, "after")
    store.commit()
    store.shorten_log()
    assert size(Path(f"{store.path}-wal")) == 0
    assert entries(store.path) == ["after", "before", "meanwhile"]
