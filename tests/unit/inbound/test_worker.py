"""Received mail is recorded and passed on as its domain's routes say."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import blobs, queues
from chalicelib.core.message_event import Event
from chalicelib.core.settings import settings
from chalicelib.inbound import rehearsal, worker
from chalicelib.inbound.worker import receive_batch
from chalicelib.inbound_domains import reply_address
from chalicelib.inbound_domains.model import Action
from chalicelib.received_mail import parsing, store
from chalicelib.received_mail.inbound_queue import MOST_IN_QUEUE
from chalicelib.sending_domains import store as domains
from tests.fake_cloud import aws_requests, queued, queued_work, sqs_event, stored_objects
from tests.unit.inbound import deadly
from tests.unit.inbound.examples import INJECTED_MS, MESSAGE, TRANSMISSION, store_context
from tests.unit.inbound.received import (
    AT_MS,
    emitted,
    handle,
    raw,
    received,
    recipient,
    route,
    take,
    types,
)
from tests.unit.inbound_domains.examples import store_inbound_domain
from tests.unit.people import make_account
from tests.unit.sending_domains.examples import domain

pytestmark = pytest.mark.usefixtures("cloud", "time")

LARGE = raw("x" * 70 + "\r\n", Subject="Large") + b"y" * MOST_IN_QUEUE


@pytest.fixture(autouse=True)
def _without_dns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERDICT_TIMEOUT", "0.05")
    settings.cache_clear()


def batches() -> list[dict[str, Any]]:
    """Take the relay batches off their queue; return their heads."""
    return [dict(queues.read(body).head) for body in queued("webhook-batches")]


def handled(octets: bytes, *recipients: Any) -> list[Event]:
    """Let the worker handle a message; return the events that it makes."""
    take(octets, *recipients)
    assert handle() == []
    return emitted()


def test_mail_without_a_route_or_relay_webhook_is_stored() -> None:
    store_inbound_domain()
    (event,) = handled(raw(), "help+9@in.test")
    (message,) = received()
    assert (event["type"], event["relay_id"]) == ("relay_injection", message.id)
    assert (message.action, message.tag, message.subject) == ("store", "9", "Re: Order")
    assert message.verdicts.keys() == {"spf", "dkim", "dmarc", "arc", "spam", "virus"}
    with store.raw(message) as spool:
        assert spool.octets() == raw()
    assert batches() == []


def test_mail_for_a_relay_webhook_is_stored_and_queued_for_it() -> None:
    store_inbound_domain(relay_webhook_id="17")
    (event,) = handled(raw())
    (message,) = received()
    assert (message.action, event["webhook_id"]) == ("webhook", "17")
    (batch,) = batches()
    assert (batch["batch_id"], batch["webhook_id"]) == (message.id, "17")
    assert batch["relay"]["relay_id"] == message.id


def test_each_recipient_gets_a_message_of_its_own() -> None:
    store_inbound_domain(relay_webhook_id="17")
    store_inbound_domain("other.test", account=2)
    events = handled(raw(), "a@in.test", "b@in.test", recipient("c@other.test", 2, account_id=2))
    assert [event["rcpt_to"] for event in events] == ["a@in.test", "b@in.test", "c@other.test"]
    assert [event["customer_id"] for event in events] == ["1", "1", "2"]
    assert [each.rcpt_to for each in received()] == ["a@in.test", "b@in.test"]
    assert len({event["relay_id"] for event in events}) == 3
    assert len(batches()) == 2


def test_mail_that_is_dropped_leaves_its_event_alone() -> None:
    store_inbound_domain(routes=(route("*", Action.DROP),), relay_webhook_id="17")
    assert types(handled(raw())) == ["relay_injection"]
    assert (received(), batches()) == ([], [])


def test_mail_that_is_forwarded_is_sent_and_stored() -> None:
    make_account()
    domains.create(domain("in.test"))
    store_inbound_domain(routes=(route("*", Action.FORWARD, "desk@inbox.test"),))
    assert types(handled(raw())) == ["relay_injection"]
    (message,) = received()
    assert (message.action, message.forward_to) == ("forward", "desk@inbox.test")
    assert len(queued_work()) == 1


def test_mail_that_cannot_be_forwarded_is_stored_and_its_event_says_why() -> None:
    make_account()
    store_inbound_domain(routes=(route("*", Action.FORWARD, "desk@inbox.test"),))
    events = handled(raw())
    assert types(events) == ["relay_injection", "relay_permfail"]
    assert (events[1]["error_code"], "sending domain" in events[1]["reason"]) == ("550", True)
    assert len(received()) == 1
    assert queued_work() == []


def test_an_answer_names_the_message_that_it_answers() -> None:
    store_context(friendly_from="shop@example.test")
    store_inbound_domain()
    address = f"{reply_address.local_part(MESSAGE, INJECTED_MS)}@in.test"
    (event,) = handled(raw(), address)
    assert (event["transmission_id"], event["message_id"]) == (TRANSMISSION, MESSAGE)
    (message,) = received()
    assert message.in_reply_to
    assert message.in_reply_to["message_id"] == MESSAGE


def test_a_large_message_stays_in_its_object() -> None:
    store_inbound_domain(relay_webhook_id="17")
    handled(LARGE, "a@in.test", "b@in.test")
    messages = received()
    assert {each.blob for each in messages} == {f"received/{messages[0].id[:-2]}"}
    assert len(stored_objects("received/")) == 1
    with store.raw(messages[1]) as spool:
        assert spool.octets()[:] == LARGE


def test_a_message_that_comes_again_changes_nothing_and_keeps_its_ids() -> None:
    store_inbound_domain(relay_webhook_id="17")
    take(raw())
    take(raw())
    assert handle() == []
    assert len(received()) == 1
    assert len({event["event_id"] for event in emitted()}) == 1
    assert len({each["batch_id"] for each in batches()}) == 1


def test_a_bad_message_fails_alone() -> None:
    store_inbound_domain()
    take(LARGE, number=1)
    blobs.delete(f"received/{AT_MS:012x}{1:012x}")
    take(raw(), number=2)
    assert len(handle()) == 1
    assert [each.id for each in received()] == [f"{AT_MS:012x}{2:012x}00"]
    assert types(emitted()) == ["relay_injection"]


@pytest.mark.parametrize("receives", [2, worker.SUSPECT_RECEIVES])
def test_a_message_that_its_recipients_have_deleted_is_dropped(receives: int) -> None:
    store_inbound_domain()
    take(LARGE, "a@in.test", "b@in.test", number=1)
    bodies = queued("inbound-mail")
    assert receive_batch(sqs_event(bodies))["batchItemFailures"] == []
    for message in received():
        store.delete(message)
    assert not stored_objects("received/")
    assert receive_batch(sqs_event(bodies, receives))["batchItemFailures"] == []
    assert received() == []


@pytest.mark.parametrize(
    "fields",
    [
        b"Subject: " + b"\r\n ".join([b"\xff" * 900] * 200),
        b"From: " + b"\xff" * 90_000 + b"@inbox.test\r\nSubject: " + b"\xff" * 90_000,
    ],
)
def test_a_message_whose_header_is_larger_than_any_record_is_received(fields: bytes) -> None:
    store_inbound_domain(relay_webhook_id="17")
    (event,) = handled(fields + b"\r\n\r\nHi\r\n")
    (message,) = received()
    assert (event["type"], event["subject"]) == ("relay_injection", message.subject)
    assert message.subject.startswith("\ufffd" * 900)


def test_a_message_that_its_worker_dies_of_fails_alone_in_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rehearsal, "read_file", deadly.die_of_poison)
    store_inbound_domain()
    take(raw("poison"), number=1)
    take(raw(), number=2)
    (body,) = handle(receives=worker.SUSPECT_RECEIVES)
    assert queues.read(body).head["id"] == f"{AT_MS:012x}{1:012x}"
    assert [each.id for each in received()] == [f"{AT_MS:012x}{2:012x}00"]


def test_a_message_that_cannot_be_parsed_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    real = parsing.read

    def read(octets: Any) -> Any:
        if b"poison" in octets[:]:
            raise RecursionError
        return real(octets)

    monkeypatch.setattr(parsing, "read", read)
    store_inbound_domain()
    take(raw("poison"), number=1)
    take(raw(), number=2)
    assert len(handle()) == 1
    assert len(received()) == 1


@pytest.mark.cost
def test_ten_messages_share_their_requests() -> None:
    store_inbound_domain(relay_webhook_id="17")
    for number in range(10):
        take(raw(), number=number)
    with aws_requests() as requests:
        assert handle() == []
    operations = [each.operation for each in requests]
    queue_requests = [each for each in operations if each.startswith("Send")]
    assert len(queue_requests) == 2
    assert operations.count("BatchWriteItem") == 1
    others = {"GetQueueUrl", "ReceiveMessage", "DeleteMessageBatch"}
    assert len([each for each in operations if each not in others]) <= 6
