from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.packing import pack, unpack

TEXTS = st.text(st.characters(), max_size=20)  # half surrogate pairs as well
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


@given(JSON, st.lists(st.binary(max_size=200), max_size=5))
def test_what_was_packed_comes_out_again(head: Any, bodies: list[bytes]) -> None:
    assert unpack(pack(head, bodies)) == (head, bodies)


def test_a_body_grows_by_nothing_but_its_place_in_the_head() -> None:
    body = bytes(range(256)) * 400
    assert len(pack({}, [body])) < len(body) + 64


def test_the_form_is_a_length_a_head_and_the_bodies() -> None:
    packed = pack({"a": "é"}, [b"xy", b"", b"z"])
    length = int.from_bytes(packed[:4], "big")
    assert json.loads(packed[4 : 4 + length]) == {"head": {"a": "é"}, "sizes": [2, 0, 1]}
    assert packed[4 + length :] == b"xyz"
