"""Tables fit the terminal, and never cut what a row is called by."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postfinch.commands import mail, metrics, output
from postfinch.commands.output import write_rows
from postfinch.metrics_reports import By, default_metrics

Show = Callable[..., list[str]]


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Show:
    """Return what writes a table on a terminal of 80 columns, and returns its lines."""

    def show(rows: list[dict[str, Any]], headings: dict[str, str], *expendable: str) -> list[str]:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setenv("TERM", "dumb")
        write_rows(rows, headings, as_json=False, empty="", expendable=expendable)
        lines = capsys.readouterr().out.splitlines()
        assert all(len(line.rstrip()) <= 80 for line in lines), lines
        return lines

    return show


def test_a_message_keeps_id_recipient_and_subject_at_80_columns(show: Show) -> None:
    row = {
        "id": "1795424017.M317204P3861.postfinch",
        "received_at": "2026-11-26T21:05:11.042Z",
        "from": "Shop <hello@example.test>",
        "to": "ann.lee@inbox.test",
        "subject": "Your order is on its way",
    }
    lines = show([row], mail._COLUMNS, *mail._EXPENDABLE)
    text = " ".join(" ".join(lines).split())
    for name in ("id", "to"):
        assert row[name] in text
    for word in row["subject"].split():
        assert word in text
    assert "Not shown at this width: Received, From" in text


def test_a_wide_enough_terminal_shows_all_columns(show: Show) -> None:
    headings = {"id": "Id", "to": "To", "subject": "Subject"}
    row = {"id": "x" * 30, "to": "ann@inbox.test", "subject": "word " * 30}
    lines = show([row], headings, "to")
    assert lines[0].split() == ["Id", "To", "Subject"]
    assert "Not shown" not in " ".join(lines)
    assert " ".join(" ".join(lines).split()).count("word") == 30


def test_metrics_are_shown_whole_or_named_at_80_columns(show: Show) -> None:
    names = default_metrics(By.DOMAIN)
    row = {"domain": "customers.example.org"} | dict.fromkeys(names, 12_345_678)
    headings = metrics._headings([row], names)
    lines = show([row], headings)
    text = " ".join(" ".join(lines).split())
    count = text.count("12345678")
    assert count >= 4
    assert "customers.example.org" in text
    missing = ", ".join(headings[name] for name in names[count:])
    assert text.endswith(f"Not shown at this width: {missing}")


def test_the_totals_of_metrics_keep_names_and_counts_at_80_columns(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    totals = [
        {"metric": metrics._short_name(name), "count": 2**40} for name in default_metrics(None)
    ]
    lines = show(totals, {"metric": "Metric", "count": "Count"})
    assert len(lines) == len(totals) + 1
    assert all(str(2**40) in line for line in lines[1:])


@given(
    st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1), min_size=1, unique=True),
    st.lists(st.integers() | st.text(max_size=99) | st.none(), min_size=1, max_size=8),
)
def test_the_first_column_and_numbers_are_never_cut(headings: list[str], values: list[Any]) -> None:
    columns = {str(place): heading for place, heading in enumerate(headings)}
    row = dict(zip(columns, ["name", *values], strict=False))
    widths = {
        name: output._least_width(heading, [row.get(name)], is_first=name == "0")
        for name, heading in columns.items()
    }
    names = output._fitting(widths, (), 80)
    assert names == list(columns)[: len(names)]
    assert len(names) == 1 or sum(widths[each] + 2 for each in names) - 2 <= 80
