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
def test_unpacking_returns_the_head_and_bodies_that_were_packed(
    head: Any, bodies: list[bytes]
) -> None:
    assert unpack(pack(head, bodies)) == (head, bodies)


def test_packing_a_large_body_adds_less_than_64_bytes() -> None:
    body = bytes(range(256)) * 400
    assert len(pack({}, [body])) < len(body) + 64


def test_the_format_is_the_length_of_the_head_the_head_and_the_bodies() -> None:
    data = pack({"a": "é"}, [b"xy", b"", b"z"])
    length = int.from_bytes(data[:4], "big")
    assert json.loads(data[4 : 4 + length]) == {"head": {"a": "é"}, "sizes": [2, 0, 1]}
    assert data[4 + length :] == b"xyz"
