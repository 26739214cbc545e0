"""Notifications of Amazon SES become the events of their messages."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.core import aws, clock, ids
from chalicelib.core.message_event import Event
from chalicelib.core.scope import Scope
from chalicelib.delivery.outcome import Delivered, to_dict
from chalicelib.delivery.store.journal import open_journal
from chalicelib.delivery.store.work_units import WorkUnit
from chalicelib.events import service
from chalicelib.events.positions import EventWindow
from chalicelib.inbound.ses_notifications.worker import take_batch
from chalicelib.recording.suppression import suppress
from chalicelib.recording.worker import record_batch
from tests.client_calls import after_each_call
from tests.fake_cloud import aws_requests, queued, sqs_event
from tests.unit.inbound.examples import (
    INJECTED_MS,
    MESSAGE,
    TRANSMISSION,
    emitted,
    own_fields,
    store_context,
)
from tests.unit.inbound.samples import RCPT
from tests.unit.inbound.ses_notifications import records
from tests.unit.moving_clock import Clock
from tests.unit.people import make_account
from tests.unit.suppression.examples import entries_of

pytestmark = pytest.mark.usefixtures("cloud", "time")


def take(*bodies: str) -> list[Event]:
    """Take notifications about a message whose context is stored; return the events."""
    store_context()
    assert take_batch(sqs_event(list(bodies))) == {"batchItemFailures": []}
    return emitted()


def event_of(body: str) -> Event:
    (event,) = take(body)
    return event


def test_a_delivery_is_the_messages_delivery() -> None:
    event = event_of(records.delivery())
    assert (event["type"], event["message_id"]) == ("delivery", MESSAGE)
    assert event["timestamp"] == records.AT_MS
    assert event["queue_time"] == "20095"
    assert event["ip_address"] == "192.0.2.25"
    assert event["num_retries"] == "0"
    assert (event["campaign_id"], event["rcpt_to"]) == ("spring", RCPT)


def test_a_delivery_tells_how_the_message_left() -> None:
    unit = WorkUnit(TRANSMISSION, "0")
    journal = open_journal(unit)
    outcome = to_dict(Delivered(250, "ok", reports_later=True))
    journal.record(3, {"at": records.AT_MS, "outcome": outcome, "route": {"ip_pool": "bulk"}})
    store_context(unit=unit.name)
    take_batch(sqs_event([records.delivery()]))
    assert emitted()[0]["ip_pool"] == "bulk"


def test_a_failed_delivery_is_a_bounce_that_suppresses() -> None:
    event = event_of(records.bounce())
    assert event["type"] == "bounce"
    assert (event["bounce_class"], event["error_code"]) == ("10", "550")
    assert event["reason"] == event["raw_reason"] == "550 5.1.1 user unknown"
    assert event["ip_address"] == "192.0.2.25"
    assert "queue_time" not in event
    suppress([event])
    assert entries_of(Scope(1, 7), RCPT)


def test_a_bounce_that_another_host_reports_is_out_of_band() -> None:
    event = event_of(records.late_bounce())
    assert (event["type"], event["bounce_class"]) == ("out_of_band", "10")
    assert "rcpt_type" not in event


@pytest.mark.parametrize("fields", [{"remote_ip": ""}, {"reporting": ""}])
def test_a_host_of_ses_or_the_address_it_talked_to_shows_a_failed_delivery(fields: Any) -> None:
    assert event_of(records.bounce(**fields))["type"] == "bounce"


@pytest.mark.parametrize(
    ("fields", "bounce_class"),
    [
        ({}, 10),
        ({"diagnostic": "", "status": ""}, 10),
        ({"sub_type": "NoEmail", "diagnostic": "", "status": ""}, 10),
        ({"diagnostic": "smtp; 554 5.7.1 Message rejected as spam by content filter"}, 52),
        ({"diagnostic": "smtp; 554 delivery error", "status": "5.0.0"}, 10),
        ({"sub_type": "Suppressed", "diagnostic": "Amazon SES has suppressed it"}, 10),
        ({"sub_type": "OnAccountSuppressionList"}, 25),
        ({"sub_type": "UnsubscribedRecipient"}, 25),
        ({"main_type": "Transient", "diagnostic": "", "status": ""}, 20),
        ({"main_type": "Transient"}, 20),
        ({"main_type": "Transient", "sub_type": "MailboxFull", "diagnostic": "", "status": ""}, 22),
        (
            {
                "main_type": "Transient",
                "sub_type": "MailboxFull",
                "diagnostic": "smtp; 452 4.2.2 The email account is over quota",
                "status": "4.2.2",
            },
            22,
        ),
        ({"main_type": "Transient", "sub_type": "MessageTooLarge", "diagnostic": ""}, 23),
        (
            {
                "main_type": "Transient",
                "sub_type": "CustomTimeoutExceeded",
                "diagnostic": "",
                "status": "",
            },
            24,
        ),
        (
            {
                "main_type": "Transient",
                "sub_type": "ContentRejected",
                "diagnostic": "",
                "status": "",
            },
            52,
        ),
        (
            {
                "main_type": "Transient",
                "sub_type": "AttachmentRejected",
                "diagnostic": "",
                "status": "",
            },
            53,
        ),
        (
            {
                "main_type": "Undetermined",
                "sub_type": "Undetermined",
                "diagnostic": "",
                "status": "",
            },
            1,
        ),
    ],
)
def test_reply_and_type_decide_the_bounce_class(fields: Any, bounce_class: int) -> None:
    assert event_of(records.bounce(**fields))["bounce_class"] == str(bounce_class)


def test_what_ses_did_not_try_is_a_bounce_whoever_reports_it() -> None:
    body = records.late_bounce(sub_type="OnAccountSuppressionList")
    assert event_of(body)["type"] == "bounce"


def test_a_complaint_suppresses() -> None:
    event = event_of(records.complaint())
    assert (event["type"], event["fbtype"]) == ("spam_complaint", "abuse")
    assert event["report_by"] == "Amazon SES Mailbox Simulator"
    suppress([event])
    assert entries_of(Scope(1, 7), RCPT)


def test_a_complaint_without_a_type_counts_and_one_that_is_none_does_not() -> None:
    assert event_of(records.complaint(kind=None))["fbtype"] == "other"
    assert take(records.complaint(kind="not-spam")) == []


def test_mail_that_was_not_sent_for_an_earlier_complaint_is_a_bounce() -> None:
    event = event_of(records.complaint(sub_type="OnAccountSuppressionList"))
    assert (event["type"], event["bounce_class"]) == ("bounce", "25")


def test_each_delay_is_an_event() -> None:
    later = records.delay(at="2026-01-31T09:00:40.000Z")
    first, second = take(records.delay(), later)
    assert (first["type"], first["bounce_class"], first["error_code"]) == ("delay", "70", "421")
    assert first["reason"] == "421 4.4.1 Unable to connect to remote host"
    assert (first["queue_time"], second["queue_time"]) == ("20095", "40000")
    assert first["event_id"] != second["event_id"]


def test_a_delay_without_a_reply_has_the_class_of_its_type() -> None:
    reply = '"diagnosticCode": "smtp; 421 4.4.1 Unable to connect to remote host"'
    status = '"status": "4.4.1"'
    body = records.delay("MailboxFull").replace(reply, '"x": 1').replace(status, '"y": 1')
    event = event_of(body)
    assert (event["bounce_class"], event["error_code"]) == ("22", "451")
    assert event["reason"] == "451 4.0.0 [internal] SES reports a delay: MailboxFull"


def test_a_virus_and_a_failed_template_are_bounces() -> None:
    virus = event_of(records.rejection())
    assert (virus["type"], virus["bounce_class"], virus["error_code"]) == ("bounce", "53", "554")
    assert "Bad content" in virus["reason"]
    failure = event_of(records.rendering_failure())
    assert (failure["type"], failure["bounce_class"]) == ("bounce", "25")


def test_a_message_that_counted_as_delivered_has_no_second_delivery() -> None:
    assert take(records.delivery(tagged=False), records.delay(tagged=False)) == []
    assert event_of(records.bounce(tagged=False))["type"] == "out_of_band"
    assert event_of(records.rejection(tagged=False))["type"] == "out_of_band"
    assert event_of(records.complaint(tagged=False))["type"] == "spam_complaint"


@pytest.mark.parametrize("make", records.ALL)
def test_a_repeated_notification_makes_the_same_event(make: Callable[[], str], time: Clock) -> None:
    first = event_of(make())
    time.now_ms += 3_600_000
    again = event_of(make())
    assert (again["event_id"], again["timestamp"]) == (first["event_id"], first["timestamp"])


def test_a_time_that_cannot_be_is_corrected() -> None:
    early = records.delivery().replace("2026-01-31T09:00:20", "2020-01-31T09:00:20")
    assert event_of(early)["queue_time"] == "0"
    late = records.delivery().replace("2026-01-31T09:00:20", "2036-01-31T09:00:20")
    assert event_of(late)["queue_time"] == "60000"


def test_what_cannot_be_read_is_logged_and_does_not_come_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR):
        (event,) = take("no notification", records.delivery(), "{}")
    assert event["type"] == "delivery"
    assert [line for line in caplog.messages if "it is no JSON" in line]
    assert [line for line in caplog.messages if "it has no type" in line]


def test_half_a_character_in_a_reply_does_no_harm() -> None:
    event = event_of(records.bounce(diagnostic="smtp; 550 5.1.1 no \ud800 user"))
    assert event["reason"] == "550 5.1.1 no ? user"


def test_other_types_and_unknown_messages_make_no_event() -> None:
    unknown = ids.message_id(TRANSMISSION, 4_000)
    assert take(*records.others(), *(make(message_id=unknown) for make in records.ALL)) == []


def test_what_fails_is_shown_again_and_the_rest_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    store_context()
    original = aws.sqs().send_message

    def refuse_delays(**request: Any) -> Any:
        if json.loads(request["MessageBody"])["head"]["count"] > 1 or failing:
            raise RuntimeError("SQS is away")
        return original(**request)

    failing = False
    monkeypatch.setattr(aws.sqs(), "send_message", refuse_delays)
    bodies = [records.delivery(), records.bounce()]
    assert take_batch(sqs_event(bodies)) == {"batchItemFailures": []}
    assert len(emitted()) == 2
    failing = True
    assert len(take_batch(sqs_event(bodies))["batchItemFailures"]) == 2


@pytest.mark.cost
def test_deliveries_of_one_work_unit_cost_three_requests() -> None:
    from chalicelib.core.dynamo import Table
    from chalicelib.tracking.store import message_context
    from tests.unit.inbound.examples import COMMON_FIELDS

    about = [(index, own_fields(index)) for index in range(100)]
    Table("messages").put(message_context.item_of(TRANSMISSION, 0, COMMON_FIELDS, about, "0") or {})
    bodies = [records.delivery(message_id=ids.message_id(TRANSMISSION, n)) for n in range(100)]
    aws.sqs()
    with aws_requests() as requests:
        take_batch(sqs_event(bodies))
    names = [request.operation for request in requests]
    assert sorted(set(names) - {"GetQueueUrl"}) == ["Query", "SendMessage"]
    assert names.count("Query") == 2
    assert len(emitted()) == 100


def test_notifications_that_come_again_are_recorded_once() -> None:
    make_account()
    store_context()
    bodies = [make() for make in records.ALL]
    for _ in range(2):
        take_batch(sqs_event(bodies))
        assert record_batch(sqs_event(queued("events"))) == {"batchItemFailures": []}
    window = EventWindow(INJECTED_MS, clock.now_ms() + 1)
    events = [event for _, event in service.newest_first(1, window, recipients=[RCPT])]
    # A message that bounced, was rejected and could not be made has one bounce: all are its end
    assert sorted(event["type"] for event in events) == [
        "bounce",
        "delay",
        "delivery",
        "out_of_band",
        "spam_complaint",
    ]


class Killed(BaseException):
    """The process dies here. No code of ours may catch it."""


def survives(bodies: list[str], kill_at: int) -> bool:
    """Take notifications in a process that dies after its ``kill_at``-th request."""
    steps = 0

    def count(_: str) -> None:
        nonlocal steps
        steps += 1
        if steps == kill_at:
            raise Killed

    try:
        with after_each_call(count):
            return take_batch(sqs_event(bodies)) == {"batchItemFailures": []}
    except Killed:
        return False


def test_a_process_that_dies_anywhere_makes_the_same_events_again() -> None:
    store_context()
    bodies = [make() for make in records.ALL]
    take_batch(sqs_event(bodies))
    expected = {(event["event_id"], event["timestamp"]) for event in emitted()}
    assert len(expected) >= 5
    kill_at = 1
    while not survives(bodies, kill_at):
        assert {(event["event_id"], event["timestamp"]) for event in emitted()} <= expected
        kill_at += 1
    assert {(event["event_id"], event["timestamp"]) for event in emitted()} == expected
    assert kill_at > 2
