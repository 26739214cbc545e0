"""A set of messages has what was put into it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from infrastructure.local.mail_readers.uid_marks import UidMarks


@given(st.sets(st.integers(1, 100)))
def test_marks_are_a_set(uids: set[int]) -> None:
    marks = UidMarks(uids)
    assert {uid for uid in range(120) if uid in marks} == uids
