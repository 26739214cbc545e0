from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.recipient_lists.stored_form import decode, encode, iterate, join, split

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
RECIPIENTS = st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=4)


@given(RECIPIENTS)
def test_recipients_are_read_one_by_one_as_they_were_joined(recipients: list[Any]) -> None:
    encoded = [encode(recipient) for recipient in recipients]
    assert list(iterate(join(encoded))) == encoded
    assert list(map(decode, iterate(join(encoded)))) == split(join(encoded)) == recipients


@pytest.mark.parametrize("piece", ["[]", "{}", '"a"', "[[1]]"])
def test_recipients_are_read_in_a_few_times_the_memory_of_their_json(piece: str) -> None:
    data = json.dumps({"substitution_data": [json.loads(piece)] * 10_000}).encode()
    array = join([data] * 100)
    tracemalloc.start()
    try:
        assert sum(map(len, iterate(array))) == 100 * len(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * len(array)
