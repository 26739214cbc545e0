"""A message is read in a process that may die of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chalicelib.core.confined import Died, FunctionFault
from chalicelib.inbound import rehearsal
from chalicelib.inbound.rehearsal import rehearse
from tests.unit.inbound import deadly
from tests.unit.inbound.received import head, raw


def test_a_message_that_can_be_read_passes_and_leaves_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("VERDICT_TIMEOUT", "0.1")
    rehearse(head([]), raw())
    assert rehearsal.read_file(f'["{os.devnull}", "", "", ""]'.encode()) == b""
    assert list(tmp_path.iterdir()) == []


def test_the_end_of_the_process_is_a_fault_of_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "read_file", deadly.die)
    with pytest.raises(Died):
        rehearse(head([]), raw())
    monkeypatch.setattr(rehearsal, "read_file", deadly.fail)
    with pytest.raises(FunctionFault):
        rehearse(head([]), raw())
