"""Received messages are stored once, and stay deleted."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from chalicelib.core import blobs, clock
from chalicelib.core.scope import Scope
from chalicelib.received_mail import store
from chalicelib.received_mail.inbound_queue import PREFIX
from chalicelib.received_mail.model import MessageSummary
from tests.fake_cloud import aws_requests, stored_objects
from tests.unit.received_mail.examples import mail, octets_of, received, stored

pytestmark = pytest.mark.usefixtures("cloud")

ALL = Scope(1, None)


def listed(limit: int = 100) -> list[MessageSummary]:
    summaries: list[MessageSummary] = []
    high = store.position_after(clock.now_ms())
    while high:
        page, high = store.between(1, store.position_at(0), high, limit)
        summaries += page
    return summaries


def large_mail() -> bytes:
    message = mail()
    message.add_attachment(os.urandom(20_000), maintype="image", subtype="png", filename="a.png")
    return octets_of(message)


def test_a_message_is_read_as_it_was_stored() -> None:
    reply = {"transmission_id": "1", "message_id": "2", "rcpt_to": "a@b.test"}
    message = stored(webhook_id="7", tag="x", in_reply_to=reply, subaccount_id=3)
    assert store.get(1, message.id) == message
    with store.raw(message) as spool:
        assert spool.octets() == octets_of(mail())


def test_empty_fields_are_read_as_empty() -> None:
    message = stored(mail_from="", tls="", subject="", friendly_from="", verdicts={})
    assert store.get(1, message.id) == message
    assert [each.mail_from for each in listed()] == [""]


def test_a_message_is_found_only_in_its_account_and_scope() -> None:
    message = stored(subaccount_id=3)
    assert store.get(2, message.id) is None
    assert store.find(ALL, message.id) == store.find(Scope(1, 3), message.id) == message
    assert store.find(Scope(1, 0), message.id) is None
    assert store.find(Scope(1, 4), message.id) is None
    assert [store.by_id(each) for each in ("", "x" * 26, message.id[:-1], "0" * 26)] == [None] * 4


def test_writing_again_writes_the_same() -> None:
    messages = [received(number) for number in range(40)]
    store.put_all(messages)
    store.put_all(messages)
    assert [each.id for each in listed(3)] == [each.id for each in reversed(messages)]


@pytest.mark.cost
def test_twelve_messages_cost_two_requests() -> None:
    messages = [received(number) for number in range(12)]
    with aws_requests() as requests:
        store.put_all(messages)
    assert [each.operation for each in requests] == ["BatchWriteItem", "BatchGetItem"]


def test_what_is_deleted_does_not_come_back() -> None:
    message, other = stored(1), stored(2)
    store.delete(message)
    store.put_all([message, other])
    assert store.get(1, message.id) is None
    assert [each.id for each in listed()] == [other.id]


def test_a_large_message_is_an_object_that_its_recipients_share() -> None:
    raw = large_mail()
    message = received(1, raw)
    other = replace(message, id=f"{message.id[:-2]}01")
    store.put_all([message, other])
    first, second = store.get(1, message.id), store.get(1, other.id)
    assert first
    assert second
    assert first.blob == second.blob == PREFIX + message.id[:-2]
    assert blobs.get(first.blob) == raw
    with store.raw(first) as spool:
        assert spool.octets()[:] == raw
    store.delete(first)
    assert stored_objects()
    store.delete(second)
    assert not stored_objects()


def test_the_object_stays_for_recipients_whose_message_is_not_stored_yet() -> None:
    raw = large_mail()
    message = received(1, raw)
    other = replace(message, id=f"{message.id[:-2]}01")
    store.put_all([message, other])
    first, second = store.get(1, message.id), store.get(1, other.id)
    assert first
    assert second
    store._messages.write_all([], delete=[store._key(second.id)])
    store.delete(first)
    assert stored_objects()
    store.put_all([message, other])
    with store.raw(second) as spool:
        assert spool.octets()[:] == raw


def test_an_object_that_exists_is_not_written_again() -> None:
    raw = large_mail()
    message = replace(received(1, raw), content=b"", blob="received/x")
    blobs.put("received/x", raw)
    store.put_all([message])
    assert store.get(1, message.id) == message


def test_messages_end_after_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    message = stored()
    later = clock.now() + 864_001
    monkeypatch.setattr(clock, "now", lambda: later)
    assert store.get(1, message.id) is None
    assert listed() == []


def test_messages_to_or_from_an_address_are_found() -> None:
    messages = stored(1, rcpt_to="Carl@tickets.test"), stored(2, mail_from="carl@tickets.test")
    stored(3)
    stored(4, rcpt_to="carl@tickets.test", subaccount_id=3)
    summaries = store.to_or_from(Scope(1, 0), ["carl@tickets.test"], batch=1)
    assert {each.id for each in summaries} == {each.id for each in messages}
