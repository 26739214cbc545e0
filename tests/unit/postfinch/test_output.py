"""Tables fit the terminal, and never cut what a row is called by."""

from __future__ import annotations

import sys

import pytest

from postfinch.commands.output import write_rows


def test_a_narrow_terminal_shows_the_first_column_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    name = "1795424017.M317204P3861.postfinch"
    rows = [{"id": name, "subject": "word " * 30, "to": "ann@inbox.test"}]
    headings = {"id": "Id", "to": "To", "subject": "Subject"}
    write_rows(rows, headings, as_json=False, empty="")
    output = capsys.readouterr().out
    assert name in output
    assert "Subject" in output
