"""Single values of reports are safe to store and to show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain_reports.values import short_text

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=300)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (" Reporter Inc. ", "Reporter Inc."),
        ("Reporter\n\t Inc.", "Reporter Inc."),
        ("R\xe9porter \U0001f600", "R\xe9porter \U0001f600"),
        ("a\ud800b\udfff", "a\ufffdb\ufffd"),
        ("a\0\x1b[2J\x7f\x9b", "a\ufffd\ufffd[2J\ufffd\ufffd"),
        ("x" * 999, "x" * 255),
        (7, ""),
        (None, ""),
    ],
)
def test_a_text_is_one_short_line(value: object, text: str) -> None:
    assert short_text(value) == text


@given(ANY_TEXT)
def test_any_text_can_be_stored_and_printed(value: str) -> None:
    text = short_text(value)
    assert text.encode().decode() == text
    assert text.splitlines() in ([text], [])
