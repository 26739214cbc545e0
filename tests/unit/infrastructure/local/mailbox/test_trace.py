"""The lines before a stored message say what its envelope was, and are told from the message."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from infrastructure.local.mailbox.trace import Trace, shown, split

TEXTS = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=20)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TRACES = st.builds(
    Trace,
    sender=TEXTS,
    recipients=st.lists(TEXTS.filter(bool), max_size=3).map(tuple),
    inbox=NAMES,
    login=NAMES,
    tags=st.lists(NAMES, max_size=3).map(tuple),
)


@given(TRACES, st.binary(max_size=60))
def test_a_trace_is_read_as_it_was_written(trace: Trace, message: bytes) -> None:
    lines = trace.before(message)
    assert split(lines + message) == (trace, len(lines))


def test_a_message_for_one_recipient_has_the_two_fields_of_any_delivery() -> None:
    lines = Trace("a@a.test", ("b@b.test",)).before(b"Subject: Hi\r\n\r\n")
    assert lines == b"Return-Path: <a@a.test>\r\nDelivered-To: b@b.test\r\n"


def test_a_message_cannot_pretend_to_have_a_trace() -> None:
    message = Trace("", ("x@x.test",), inbox="other").before(b"")[len(b"Return-Path: <>\r\n") :]
    message = message.partition(b"\r\n")[2] + b"\r\nText"
    assert message.startswith(b"X-Postfinch-Trace: ")
    trace = Trace("", ("a@a.test",))
    lines = trace.before(message)
    assert split(lines + message) == (trace, len(lines))


def test_what_has_no_trace_is_all_message() -> None:
    assert split(b"Subject: Hi\r\n\r\n") == (None, 0)


@given(TRACES, st.binary())
def test_tags_do_not_change_what_mail_readers_get(trace: Trace, message: bytes) -> None:
    tagged = replace(trace, tags=("red", "new"))
    first, second = (shown(each.before(message) + message) for each in (trace, tagged))
    assert first == second == Trace(trace.sender, trace.recipients[:1]).before(b"") + message
