"""Tags of a message are those that Mailpit would give it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infrastructure.local.mailbox.tags import TagChoices, tags_at_arrival, unique_tags
from infrastructure.local.mailbox.trace import Trace

TRACE = Trace("s@x.test", ("ann+env+two@x.test", "b@x.test"), login="the shop")
MESSAGE = (
    b"From: Bob <bob+from@x.test>\r\nX-Tags: One, tWo ,, b!c\r\n"
    b"To: =?utf-8?q?A+B?= <ann+env+two@x.test>,\r\n c+copy@x.test\r\n\r\nX-Tags: body"
)


@pytest.mark.parametrize(
    ("environ", "tags"),
    [
        ({}, ["One", "b c", "copy", "env", "from", "tWo"]),
        ({"MAILBOX_TAGS_FROM": "x-tags"}, ["One", "b c", "tWo"]),
        ({"MAILBOX_TAGS_FROM": "plus-addresses"}, ["copy", "env", "from", "two"]),
        ({"MAILBOX_TAGS_FROM": "Login"}, ["the shop"]),
        ({"MAILBOX_TAGS_FROM": "none"}, []),
        ({"MAILBOX_TAGS_TITLES": "true"}, ["B C", "Copy", "Env", "From", "One", "TWo"]),
    ],
)
def test_header_addresses_and_login_give_tags(environ: dict[str, str], tags: list[str]) -> None:
    choices = TagChoices.read(environ)
    assert tags_at_arrival(TRACE, MESSAGE, choices) == tags


def test_an_unknown_source_is_refused() -> None:
    with pytest.raises(ValueError, match=r"MAILBOX_TAGS_FROM: 'subject' is none of"):
        TagChoices.read({"MAILBOX_TAGS_FROM": "x-tags,subject"})


@given(st.lists(st.text()))
def test_tags_are_clean_and_differ(texts: list[str]) -> None:
    tags = unique_tags(texts)
    assert unique_tags(tags) == tags
    assert len({tag.lower() for tag in tags}) == len(tags)
    assert all(0 < len(tag) <= 100 for tag in tags)


@pytest.mark.parametrize("piece", [b"+", b"+a@", b"a+b,", b"<@"])
def test_a_field_of_a_stranger_takes_linear_time(piece: bytes) -> None:
    field = b"To: " + piece * 300_000 + b"\r\n\r\n"
    began = time.process_time()
    tags_at_arrival(Trace("", ()), field)
    assert time.process_time() - began < 2


def test_a_field_of_any_length_is_read_in_part() -> None:
    message = b"From: a+early@b.test, " + b"a@b.test, " * 10_000 + b"a+late@b.test\r\n"
    message += b"X-Tags: first, " + b" " * 100_000 + b"last\r\n\r\n"
    assert tags_at_arrival(Trace("", ()), message) == ["early", "first"]
