from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from infrastructure.local.cloud.changes import Change, decode, encode

# Characters of all kinds, among them those that have a meaning in a path, and half a surrogate pair
PARTS = st.text(st.sampled_from('a["\0\1é\U0001f600\ud800') | st.characters(), max_size=6)
PATHS = st.builds(lambda parts: ("item", *parts), st.lists(PARTS, max_size=4))
CHANGES = st.builds(Change, PATHS, st.none() | st.binary(max_size=40), st.integers(0, 2**40))


@given(st.lists(CHANGES, max_size=8))
def test_changes_are_decoded_as_they_were_encoded(changes: list[Change]) -> None:
    assert list(decode(b"".join(encode(change) for change in changes))) == changes


@given(st.lists(CHANGES, max_size=8), st.integers(1, 2**40))
def test_values_that_have_expired_are_left_out(changes: list[Change], now: int) -> None:
    content = b"".join(encode(change) for change in changes)
    expected = [change for change in changes if not 0 < change.expires <= now]
    assert list(decode(content, expired_before=now)) == expected
