from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core import compact_json

#: Text with lone surrogates, which the json module reads from an escape in a request
TEXT = st.text(st.characters())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)


@given(VALUES)
def test_a_value_is_read_as_it_was_written(value: Any) -> None:
    data = compact_json.dumps(value)
    assert repr(compact_json.loads(data)) == repr(value)
    assert b"\n" not in data
    assert repr(json.loads(data.decode("utf-8", "surrogatepass"))) == repr(value)


def test_half_a_surrogate_pair_is_kept() -> None:
    assert compact_json.loads(compact_json.dumps({"a": ["\ud83d", "é"]})) == {"a": ["\ud83d", "é"]}


def test_text_is_written_without_blanks_and_escapes() -> None:
    assert compact_json.dumps({"a": [1, 1.0, True, None], "b": "é"}) == (
        '{"a":[1,1.0,true,null],"b":"é"}'.encode()
    )


def test_values_of_earlier_versions_are_read() -> None:
    assert compact_json.loads(b'{"a": "\\ud83d", "b": [1]}') == {"a": "\ud83d", "b": [1]}
