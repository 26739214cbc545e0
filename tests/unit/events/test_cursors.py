from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chalicelib.core import signing
from chalicelib.events import cursors
from chalicelib.events.cursors import Cursor
from chalicelib.events.positions import EventWindow
from tests.unit.refusals import refusal

PATH = "/api/v1/events/message"
CURSOR = Cursor(EventWindow(5, 17), "1769850000000#1", 5)
BINDING = [1, None, {"events": ["open"]}]
GENUINE = cursors.encode(CURSOR, BINDING)


def refused_cursor(cursor: str, binding: Any = BINDING) -> str:
    error = refusal(cursors.decode, cursor, binding)
    assert (error.status, error.errors[0]["code"]) == (400, "1200")
    return str(error)


@given(
    st.builds(
        Cursor,
        st.builds(EventWindow, st.integers(-(2**40), 2**40), st.integers(-(2**40), 2**40)),
        st.text(max_size=30),
        st.integers(0, 2**40),
    )
)
@hypothesis_settings(max_examples=50)
def test_a_cursor_is_read_as_it_was_written(cursor: Cursor) -> None:
    assert cursors.decode(cursors.encode(cursor, BINDING), BINDING) == cursor


@given(cut=st.integers(0, 200), junk=st.text(max_size=8), appended=st.booleans())
@hypothesis_settings(max_examples=200)
def test_a_forged_or_cut_cursor_is_refused(cut: int, junk: str, appended: bool) -> None:
    text = GENUINE[: cut % len(GENUINE)] + junk if not appended else GENUINE + "A" + junk
    if text != GENUINE:
        assert "cursor" in refused_cursor(text)


@given(st.integers(0, len(GENUINE) - 1), st.sampled_from("ABab01-_=.é"))
@hypothesis_settings(max_examples=200)
def test_a_cursor_with_another_character_is_refused(place: int, character: str) -> None:
    # some bits of the last character are unused
    if GENUINE[place] != character and place < len(GENUINE) - 1:
        assert "cursor" in refused_cursor(GENUINE[:place] + character + GENUINE[place + 1 :])


@pytest.mark.parametrize("purpose", ["link", "return path"])
def test_a_token_with_another_purpose_is_not_a_cursor(purpose: str) -> None:
    assert "cursor" in refused_cursor(signing.to_token(["", 0, 1, "", 5], purpose))


@pytest.mark.parametrize(
    "binding", [[2, None, {"events": ["open"]}], [1, 7, {"events": ["open"]}], [1, None, {}]]
)
def test_a_cursor_is_valid_for_its_account_and_filters_only(binding: Any) -> None:
    assert "other filters" in refused_cursor(GENUINE, binding)


@given(st.dictionaries(st.text(max_size=10), st.text(max_size=20), max_size=5))
@hypothesis_settings(max_examples=100)
def test_the_link_has_the_parameters_of_the_query(query: dict[str, str]) -> None:
    link = cursors.link(PATH, query, "next")
    assert link.startswith(f"{PATH}?")
    assert link.isascii()
    parameters = dict(parse_qsl(urlsplit(link).query, keep_blank_values=True))
    assert parameters == {**query, "cursor": "next"}


@pytest.mark.spec("4.10-t1")
def test_the_link_is_relative_and_easy_to_read() -> None:
    query = {"events": "bounce,open", "recipients": "a+b@x.test", "cursor": "initial"}
    assert cursors.link(PATH, query, "c") == (
        "/api/v1/events/message?events=bounce,open&recipients=a%2Bb@x.test&cursor=c"
    )
