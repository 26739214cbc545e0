from __future__ import annotations

import stat
from pathlib import Path

import pytest

from infrastructure.machine.certificates.pauses import OrderState, Pauses, read_state
from tests.unit.infrastructure.machine.certificates.issuing import DIRECTORY, NOW


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"pauses": {"a": {}}, "missing_since": null}', '{"pauses": 1}']
)
def test_a_damaged_file_counts_as_empty(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(text)
    assert read_state(path) == OrderState({}, None)


def test_what_is_stored_is_read_by_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    pauses = Pauses(path, DIRECTORY)
    pauses.add("a.test", "no", NOW, 600, ["a.test"])
    pauses.note_service(is_missing=True, now=NOW)
    pauses.note_service(is_missing=True, now=NOW + 1)
    assert read_state(path).missing_since == NOW
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    following = Pauses(path, DIRECTORY)
    assert following.is_paused("a.test", NOW + 599, ["a.test"])
    assert not following.is_paused("a.test", NOW + 600, ["a.test"])
    following.note_service(is_missing=False, now=NOW + 2)
    following.remove(["a.test"])
    assert read_state(path) == OrderState({}, None)
