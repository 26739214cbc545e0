"""Values that an item can hold, for hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NUMBERS = st.integers(-(10**37), 10**37) | st.floats(
    min_value=-1e100, max_value=1e100, allow_nan=False, allow_subnormal=False
).filter(lambda number: number == 0 or abs(number) > 1e-100)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | NUMBERS
    | st.text(max_size=10)
    | st.binary(max_size=10)
    | st.sets(st.text(min_size=1, max_size=5), min_size=1, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(min_size=1, max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
