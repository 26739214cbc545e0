"""Single values of reports are safe to store and to show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.domain_reports.values import address, count, moment, short_text

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


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *((7, 7), (" 12\n", 12), ("+3", 3), ("2.0", 2), (2.9, 2), ("1,200", 1200)),
        *(("12 345 678", 12_345_678), ("10" * 6, 101_010_101_010), (10**12, 10**12)),
        *((10**12 + 1, 0), (-1, 0), ("1e9", 0), ("1,20", 0), ("\u0661", 0), (None, 0), (True, 0)),
        *(("9" * 300, 0), (float("nan"), 0), ([1], 0), ("", 0)),
    ],
)
def test_a_count_is_a_number_in_any_usual_form(value: object, number: int) -> None:
    assert count(value) == number


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *((1_769_731_200, 1_769_731_200), ("1769731200.9", 1_769_731_200)),
        *(("1769731200000", 1_769_731_200), (1_769_731_200_000_000, 1_769_731_200)),
        *(("2026-01-30T00:00:00Z", 1_769_731_200), ("2026-01-30t01:00:00+01:00", 1_769_731_200)),
        *(("2026-01-30", 1_769_731_200), ("2026-01-30 00:00:00.123", 1_769_731_200)),
        *(("soon", 0), ("", 0), (None, 0), ("0001-01-01T00:00:00+14:00", 0), (-5, 0)),
    ],
)
def test_a_moment_is_in_seconds(value: object, seconds: int) -> None:
    assert moment(value) == seconds


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        *(("192.0.2.1", "192.0.2.1"), ("192.000.002.001", "192.0.2.1"), ("192.0.2.256", "")),
        *(("2001:DB8:0:0::0001", "2001:db8::1"), ("[2001:db8::1]", "2001:db8::1")),
        *(("IPv6:2001:db8::1", "2001:db8::1"), ("fe80::1%eth0", "fe80::1")),
        *(("::ffff:c000:0201", "192.0.2.1"), ("2001:db8::1/128", "2001:db8::1")),
        *(("", ""), ("localhost", ""), ("1.2.3", ""), ("1" * 300, "")),
    ],
)
def test_an_address_has_one_spelling(text: str, spelling: str) -> None:
    assert address(text) == spelling


@given(ANY_TEXT)
def test_any_text_is_a_value_or_none(text: str) -> None:
    assert count(text) >= 0
    assert moment(text) >= 0
    address(text)
