from __future__ import annotations

from base64 import b64encode
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from infrastructure.local.cloud.table_keys import KeyValue, Unusual, after_prefix, key_value

DIGITS = st.text(alphabet="0123456789", min_size=1, max_size=38)
# All that DynamoDB takes for a number: up to 38 digits, 1E-130 to 9.99E+125
NUMBERS = st.one_of(
    st.builds(
        lambda sign, digits, exponent: Decimal(f"{sign}{digits[0]}.{digits[1:]}E{exponent}"),
        st.sampled_from(["", "-"]),
        DIGITS,
        st.integers(-130, 125) | st.integers(-3, 3),
    ),
    st.integers(-300, 300).map(Decimal),
)
# Characters around those whose neighbours are no characters, or are longer in UTF-8
EDGES = "ab\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"
TEXTS = st.text(alphabet=EDGES, min_size=1, max_size=4)
BYTES = st.lists(st.sampled_from([0, 1, 0x7F, 0xFE, 0xFF]), min_size=1, max_size=4).map(bytes)


def number(value: Decimal) -> KeyValue:
    return key_value("N", str(value))


def stored_bytes(value: KeyValue) -> bytes:
    """Return what SQLite compares."""
    return value if isinstance(value, bytes) else value.encode()


@given(NUMBERS, NUMBERS)
@example(Decimal("-1"), Decimal("-1.1"))
@example(Decimal("1E125"), Decimal("-9.9E125"))
@example(Decimal("-1E-130"), Decimal("0"))
def test_numbers_are_in_the_order_of_their_values(one: Decimal, other: Decimal) -> None:
    ordered = (number(one) > number(other)) - (number(one) < number(other))  # type: ignore[operator]
    assert ordered == (one > other) - (one < other)


@pytest.mark.parametrize("spelling", ["100", "1E2", "100.00", "+100", "0100", "1.00e+2"])
def test_every_spelling_of_a_number_is_one_key(spelling: str) -> None:
    assert key_value("N", spelling) == number(Decimal(100))


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("S", ""),
        ("S", "\ud800"),
        ("S", 5),
        ("N", "NaN"),
        ("N", "Infinity"),
        ("N", "one"),
        ("N", "1" * 39),
        ("B", "no base64"),
        ("B", ""),
    ],
)
def test_what_cannot_be_a_key_is_left_to_ministack(kind: str, content: object) -> None:
    with pytest.raises(Unusual):
        key_value(kind, content)


@given(TEXTS | BYTES, TEXTS | BYTES, TEXTS | BYTES | st.just(""))
def test_after_a_prefix_is_all_that_is_higher_and_does_not_begin_with_it(
    prefix: KeyValue, other: KeyValue, rest: KeyValue
) -> None:
    end = after_prefix(prefix)
    for value in (other, prefix + rest if type(prefix) is type(rest) else prefix):  # type: ignore[operator]
        if type(value) is not type(prefix):
            continue
        low, content = stored_bytes(prefix), stored_bytes(value)
        is_between = low <= content and (end is None or content < stored_bytes(end))
        assert is_between == content.startswith(low)


@given(st.binary(min_size=1))
def test_binary_keys_are_their_bytes(content: bytes) -> None:
    assert key_value("B", b64encode(content).decode()) == content
