from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import ids
from chalicelib.events.documentation import INGESTED, TYPES, sample, wrapper_of
from chalicelib.ingest import request
from chalicelib.ingest.model import IngestBatch
from chalicelib.ingest.request import LONGEST, LONGEST_NAME, Unusable, read
from tests.unit.events.examples import NINE
from tests.unit.ingest.examples import BATCH, NOW, outside_event


def refusal(event: Any, batch: IngestBatch = BATCH) -> str:
    with pytest.raises(Unusable) as error:
        read(event, batch)
    return str(error.value)


def test_an_event_becomes_an_event_of_the_account() -> None:
    event = read(outside_event(campaign_id="spring", msg_size=17), BATCH)
    assert event["type"] == "delivery"
    assert event["timestamp"] == NINE
    assert (event["customer_id"], "subaccount_id" in event) == ("1", False)
    assert (event["rcpt_to"], event["raw_rcpt_to"]) == ("ann0@inbox.test", "Ann0@inbox.test")
    assert event["rcpt_hash"] == ids.recipient_hash("ann0@inbox.test")
    assert (event["recipient_domain"], event["rcpt_meta"], event["rcpt_tags"]) == (
        "inbox.test",
        {},
        [],
    )
    assert (event["campaign_id"], event["msg_size"]) == ("spring", "17")


@pytest.mark.parametrize("kind", INGESTED)
@pytest.mark.parametrize("outer", ["", "svc", "msys"])
def test_events_in_the_form_of_webhooks_are_read(kind: str, outer: str) -> None:
    fields = sample(kind) | {"timestamp": str(NINE // 1000), "message_id": "m", "subaccount_id": ""}
    fields = {name: value for name, value in fields.items() if name in TYPES[kind].fields}
    fields = {"event_id": "17", **fields}
    event = read({outer: {wrapper_of(kind): fields}} if outer else fields, BATCH)
    assert event["type"] == kind
    for name in TYPES[kind].fields:
        if name not in request._IGNORED:
            assert event[name] == fields[name], name


def test_fields_that_the_type_does_not_have_are_ignored() -> None:
    extra = {"observed": {"unit": 0}, "rcpt_index": 3, "ab_test_id": "t", "bounce_class": "x"}
    assert read(outside_event() | extra, BATCH) == read(outside_event(), BATCH)


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ("delivery", "must be an object"),
        ([], "must be an object"),
        ({"svc": {"message_event": 7}}, "must be an object"),
        ({"svc": {}}, "type must be"),
        (outside_event(kind="opened"), "'opened'"),
        (outside_event(kind="relay_injection"), "'relay_injection'"),
        (outside_event(kind="success"), "'success'"),
        (outside_event(type=7), "type must be"),
        ({"svc": {"track_event": outside_event()}}, "belongs in a message_event"),
        (outside_event(event_id=None), "event_id is a required field"),
        (outside_event(timestamp=None), "timestamp is a required field"),
        (outside_event(rcpt_to=None), "rcpt_to is a required field"),
        (outside_event(message_id=None), "message_id is a required field"),
        (outside_event(kind="bounce", bounce_class=None), "bounce_class is a required field"),
        (outside_event(kind="out_of_band", bounce_class=None), "bounce_class is a required field"),
        (outside_event(kind="bounce", bounce_class="hard"), "bounce_class must be a whole number"),
        (outside_event(kind="bounce", bounce_class="-1"), "bounce_class must be a whole number"),
        (outside_event(rcpt_to="nobody"), "rcpt_to must be an email address"),
        (outside_event(subject=["x"]), "subject must be a string"),
        (outside_event(subject=True), "subject must be a string"),
        (outside_event(open_tracking="maybe"), "open_tracking must be a boolean"),
        (outside_event(rcpt_meta="x"), "rcpt_meta must be an object"),
        (outside_event(rcpt_tags=["a", 1]), "rcpt_tags must be an array of strings"),
        (outside_event(rcpt_tags="a"), "rcpt_tags must be an array of strings"),
        (outside_event(rcpt_meta={"x": "y" * 11_000}), "rcpt_meta has more than"),
        (outside_event(subject="x" * (LONGEST + 1)), "subject has more than"),
        (outside_event(campaign_id="x" * (LONGEST_NAME + 1)), "campaign_id has more than"),
        (outside_event(event_id="x" * (LONGEST_NAME + 1)), "event_id has more than"),
        (outside_event(event_id=[1]), "event_id must be a string"),
        (outside_event(customer_id="2"), "customer_id"),
        (outside_event(customer_id=2), "customer_id"),
        (outside_event(subaccount_id=7), "subaccount_id"),
    ],
)
def test_an_event_that_cannot_be_ingested_is_refused_with_the_reason(event: Any, text: str) -> None:
    if isinstance(event, dict):
        event = {name: value for name, value in event.items() if value is not None}
    assert text in refusal(event)


@pytest.mark.parametrize(
    "text",
    [
        NINE // 1000,
        NINE / 1000,
        str(NINE // 1000),
        str(NINE),
        NINE,
        "2026-01-31T09:00:00Z",
        "2026-01-31T09:00:00.000Z",
        "2026-01-31T10:00:00+01:00",
    ],
)
def test_timestamps_are_read_in_every_form_that_events_have(text: Any) -> None:
    assert read(outside_event(timestamp=text), BATCH)["timestamp"] == NINE


@pytest.mark.parametrize("text", ["", "soon", "1" * 16, True, [], {}, "-5", "0x10", 1e300])
def test_a_timestamp_that_is_not_a_time_is_refused(text: Any) -> None:
    assert "timestamp" in refusal(outside_event(timestamp=text))


def test_events_are_less_than_a_day_old_and_not_in_the_future() -> None:
    day = 86_400_000
    assert read(outside_event(timestamp=str(NOW - day + 1)), BATCH)
    assert "more than 24 hours ago" in refusal(outside_event(timestamp=str(NOW - day)))
    assert read(outside_event(timestamp=str(NOW + 300_000)), BATCH)
    assert "in the future" in refusal(outside_event(timestamp=str(NOW + 300_001)))


def test_the_batch_of_a_subaccount_holds_only_its_events() -> None:
    batch = replace(BATCH, subaccount_id=7)
    for fields in ({}, {"subaccount_id": 7}, {"subaccount_id": "7"}, {"subaccount_id": ""}):
        assert read(outside_event(**fields), batch)["subaccount_id"] == "7"
    for foreign in (8, "0", "8"):
        assert "subaccount_id" in refusal(outside_event(subaccount_id=foreign), batch)
    assert "subaccount_id" not in read(outside_event(subaccount_id=0), BATCH)


def test_two_accounts_may_use_the_same_event_id() -> None:
    own, other = read(outside_event(), BATCH), read(outside_event(), replace(BATCH, account_id=2))
    assert own["event_id"] != other["event_id"]
    assert own["event_id"] == read(outside_event(timestamp=str(NOW)), BATCH)["event_id"]
    number, text = (read(outside_event(event_id=each), BATCH) for each in (17, "17"))
    assert number["event_id"] == text["event_id"]


def test_events_of_messages_of_this_service_are_refused() -> None:
    transmission = "191930000000000001"
    message = ids.message_id(transmission, 3)
    text = refusal(outside_event(message_id=message, transmission_id=transmission))
    assert "of this service" in text
    assert read(outside_event(message_id=message, transmission_id="7"), BATCH)


def test_an_sms_status_needs_neither_id_nor_address() -> None:
    status = {"type": "sms_status", "timestamp": str(NINE), "sms_dst": "4790000001"}
    event = read(status, BATCH)
    assert event["sms_dst"] == "4790000001"
    assert event["event_id"] == read(dict(reversed(status.items())), BATCH)["event_id"]
    assert event["event_id"] != read(status | {"sms_dst": "4"}, BATCH)["event_id"]


def test_no_input_makes_reading_fail_with_another_error() -> None:
    rng = random.Random(4)
    junk: list[Any] = [None, True, -1, 1.5, "", "x", "\u0000", [], {}, [[]], {"a": []}, "9" * 400]
    for _ in range(3000):
        event: Any = outside_event(kind=rng.choice(INGESTED))
        for name in rng.sample(sorted({*event, *TYPES["open"].fields, *TYPES["bounce"].fields}), 3):
            event[name] = rng.choice(junk)
        try:
            read(rng.choice([event, {"svc": event}, {"svc": {"message_event": event}}]), BATCH)
        except Unusable:
            continue
