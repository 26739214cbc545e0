from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.dynamo.codec import decode, decode_item, encode, encode_item
from tests.unit.core.dynamo.values import VALUES


@given(VALUES)
def test_decoding_an_encoded_value_returns_it(value: Any) -> None:
    assert decode(encode(value)) == value


@given(st.booleans() | st.integers(-5, 5) | st.just(1.0) | st.text(max_size=2))
def test_a_decoded_value_has_its_original_type(value: Any) -> None:
    assert type(decode(encode(value))) is type(value)


def test_a_tuple_is_decoded_as_a_list_and_a_frozen_set_as_a_set() -> None:
    assert decode(encode((1, (2,)))) == [1, [2]]
    assert decode(encode(frozenset({"b", "a"}))) == {"a", "b"}
    assert encode({"b", "a"}) == {"SS": ["a", "b"]}


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("-12", -12), ("1.50", 1.5), ("1E+2", 100.0), ("-0.1", -0.1)]
)
def test_numbers_are_decoded_from_every_form_that_dynamodb_returns(text: str, value: float) -> None:
    assert decode({"N": text}) == value


def test_items_are_encoded_attribute_by_attribute() -> None:
    assert encode_item({"pk": "a", "n": 1}) == {"pk": {"S": "a"}, "n": {"N": "1"}}
    assert decode_item({"pk": {"S": "a"}, "n": {"N": "1"}}) == {"pk": "a", "n": 1}
