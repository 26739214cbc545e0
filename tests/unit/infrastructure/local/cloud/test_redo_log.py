from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infrastructure.local.cloud import redo_log
from infrastructure.local.cloud.redo_log import (
    BASE_KIND,
    LOG_KIND,
    DamagedState,
    Records,
    RedoLog,
    write_base,
)

CONTENTS = st.lists(st.binary(min_size=1, max_size=60), max_size=8)
in_one_directory = settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log-1"


def written(path: Path, contents: list[bytes]) -> RedoLog:
    log = RedoLog.create(path)
    for content in contents:
        log.append(content)
    return log


def contents_of(path: Path, kind: bytes = LOG_KIND, complete: bool = False) -> list[bytes]:
    return list(Records(path, kind, complete))


def reopened(path: Path) -> RedoLog:
    records = Records(path, LOG_KIND, complete=False)
    list(records)
    return RedoLog.reopen(path, records.end)


@in_one_directory
@given(CONTENTS, CONTENTS)
def test_a_log_reads_as_it_was_written_before_and_after_it_is_opened_again(
    path: Path, first: list[bytes], second: list[bytes]
) -> None:
    written(path, first)
    log = reopened(path)
    for content in second:
        log.append(content)
    assert contents_of(path) == first + second


@in_one_directory
@given(CONTENTS, st.lists(st.integers(1, 255), min_size=1, max_size=60).map(bytes), st.data())
def test_a_record_that_was_cut_off_is_as_if_it_had_not_been_written(
    path: Path, contents: list[bytes], last: bytes, data: st.DataObject
) -> None:
    log = written(path, contents)
    start = log.end
    log.append(last)
    room_end = path.stat().st_size
    os.truncate(path, data.draw(st.integers(start, log.end - 1)))
    os.truncate(path, room_end)
    assert contents_of(path) == contents
    again = reopened(path)
    again.append(b"next")
    assert contents_of(path) == [*contents, b"next"]


@in_one_directory
@given(st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=8), st.data())
def test_a_changed_byte_before_the_mark_is_damage(
    path: Path, contents: list[bytes], data: st.DataObject
) -> None:
    log = written(path, contents)
    log.synchronize()
    position = data.draw(st.integers(24, log.end - 1)) - 8
    damaged = bytearray(path.read_bytes())
    damaged[position] ^= data.draw(st.integers(1, 255))
    path.write_bytes(damaged)
    with pytest.raises(DamagedState, match="log-1 is damaged at byte"):
        contents_of(path)


def test_a_log_that_is_shorter_than_its_mark_is_damaged(path: Path) -> None:
    log = written(path, [b"first", b"second"])
    log.synchronize()
    os.truncate(path, log.end - 6 - 8)
    with pytest.raises(DamagedState, match="is damaged at byte"):
        contents_of(path)


def test_a_base_is_read_as_a_whole_or_not_at_all(path: Path) -> None:
    write_base(path, [b"first", b"second"])
    assert contents_of(path, BASE_KIND, complete=True) == [b"first", b"second"]
    os.truncate(path, path.stat().st_size - 1)
    with pytest.raises(DamagedState, match="is damaged at byte"):
        contents_of(path, BASE_KIND, complete=True)


def test_a_base_whose_writing_ended_early_does_not_exist(path: Path) -> None:
    def contents() -> object:
        yield b"first"
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write_base(path, contents())  # type: ignore[arg-type]
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"PFREDO1", b"something else entirely, and longer"])
def test_a_file_without_the_header_of_its_kind_is_damaged(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(DamagedState, match="is not a state file of this version"):
        contents_of(path)


@pytest.mark.parametrize("bytes_before_the_disk_is_full", [0, 3, 20])
def test_a_record_that_does_not_fit_leaves_nothing_behind(
    path: Path, monkeypatch: pytest.MonkeyPatch, bytes_before_the_disk_is_full: int
) -> None:
    log = written(path, [b"first"])
    monkeypatch.setattr(redo_log.os, "pwrite", a_disk_with(bytes_before_the_disk_is_full))
    with pytest.raises(OSError, match="full"):
        log.append(b"it is longer than the room, which is twenty bytes")
    monkeypatch.undo()
    log.append(b"next")
    assert contents_of(path) == [b"first", b"next"]


def a_disk_with(room: int) -> Callable[[int, bytes, int], int]:
    pwrite = os.pwrite

    def write(descriptor: int, data: bytes, offset: int) -> int:
        nonlocal room
        if not room:
            raise OSError(28, "the disk is full")
        count = pwrite(descriptor, data[:room], offset)
        room -= count
        return count

    return write


def test_short_writes_are_continued(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pwrite = os.pwrite
    monkeypatch.setattr(redo_log.os, "pwrite", lambda file, data, at: pwrite(file, data[:3], at))
    written(path, [b"first content", b"second content"])
    assert contents_of(path) == [b"first content", b"second content"]


def test_room_is_on_the_disk_before_it_is_needed(path: Path) -> None:
    log = written(path, [])
    log.make_room(10 << 20)
    status = path.stat()
    assert status.st_size > 10 << 20
    assert status.st_blocks * 512 > 10 << 20
    assert contents_of(path) == []
