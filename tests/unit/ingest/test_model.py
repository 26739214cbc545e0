from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import ids
from chalicelib.events.documentation import SEARCHED, TYPES, sample, wrapper_of
from chalicelib.ingest import model
from chalicelib.ingest.batches import Batch
from chalicelib.ingest.model import LONGEST, LONGEST_NAME, Unusable, read
from tests.unit.events.examples import NINE
from tests.unit.ingest.examples import BATCH, NOW, given


def refusal(event: Any, batch: Batch = BATCH) -> str:
    with pytest.raises(Unusable) as refused:
        read(event, batch)
    return str(refused.value)


def test_an_event_becomes_one_of_the_account() -> None:
    event = read(given(campaign_id="spring", msg_size=17), BATCH)
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


@pytest.mark.parametrize("kind", SEARCHED)
@pytest.mark.parametrize("outer", ["", "svc", "msys"])
def test_the_form_in_which_webhooks_give_events_is_taken(kind: str, outer: str) -> None:
    fields = sample(kind) | {"timestamp": str(NINE // 1000), "message_id": "m", "subaccount_id": ""}
    fields = {name: value for name, value in fields.items() if name in TYPES[kind].fields}
    fields = {"event_id": "17", **fields}
    event = read({outer: {wrapper_of(kind): fields}} if outer else fields, BATCH)
    assert event["type"] == kind
    for name in TYPES[kind].fields:
        if name not in model._NOT_TAKEN:
            assert event[name] == fields[name], name


def test_what_is_no_field_of_its_type_is_ignored() -> None:
    extra = {"observed": {"unit": 0}, "rcpt_index": 3, "ab_test_id": "t", "bounce_class": "x"}
    assert read(given() | extra, BATCH) == read(given(), BATCH)


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ("delivery", "must be an object"),
        ([], "must be an object"),
        ({"svc": {"message_event": 7}}, "must be an object"),
        ({"svc": {}}, "type must be"),
        (given(kind="opened"), "'opened'"),
        (given(kind="relay_injection"), "'relay_injection'"),
        (given(kind="success"), "'success'"),
        (given(type=7), "type must be"),
        ({"svc": {"track_event": given()}}, "belongs in a message_event"),
        (given(event_id=None), "event_id is a required field"),
        (given(timestamp=None), "timestamp is a required field"),
        (given(rcpt_to=None), "rcpt_to is a required field"),
        (given(message_id=None), "message_id is a required field"),
        (given(kind="bounce", bounce_class=None), "bounce_class is a required field"),
        (given(kind="out_of_band", bounce_class=None), "bounce_class is a required field"),
        (given(kind="bounce", bounce_class="hard"), "bounce_class must be a whole number"),
        (given(kind="bounce", bounce_class="-1"), "bounce_class must be a whole number"),
        (given(rcpt_to="nobody"), "rcpt_to must be an email address"),
        (given(subject=["x"]), "subject must be a string"),
        (given(subject=True), "subject must be a string"),
        (given(open_tracking="maybe"), "open_tracking must be a boolean"),
        (given(rcpt_meta="x"), "rcpt_meta must be an object"),
        (given(rcpt_tags=["a", 1]), "rcpt_tags must be an array of strings"),
        (given(rcpt_tags="a"), "rcpt_tags must be an array of strings"),
        (given(rcpt_meta={"x": "y" * 11_000}), "rcpt_meta has more than"),
        (given(subject="x" * (LONGEST + 1)), "subject has more than"),
        (given(campaign_id="x" * (LONGEST_NAME + 1)), "campaign_id has more than"),
        (given(event_id="x" * (LONGEST_NAME + 1)), "event_id has more than"),
        (given(event_id=[1]), "event_id must be a string"),
        (given(customer_id="2"), "customer_id"),
        (given(customer_id=2), "customer_id"),
        (given(subaccount_id=7), "subaccount_id"),
    ],
)
def test_an_event_that_cannot_be_taken_is_told_why(event: Any, text: str) -> None:
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
def test_times_are_read_in_every_form_that_events_have(text: Any) -> None:
    assert read(given(timestamp=text), BATCH)["timestamp"] == NINE


@pytest.mark.parametrize("text", ["", "soon", "1" * 16, True, [], {}, "-5", "0x10", 1e300])
def test_what_is_no_time_is_refused(text: Any) -> None:
    assert "timestamp" in refusal(given(timestamp=text))


def test_events_are_less_than_a_day_old_and_not_of_the_future() -> None:
    day = 86_400_000
    assert read(given(timestamp=str(NOW - day + 1)), BATCH)
    assert "more than 24 hours ago" in refusal(given(timestamp=str(NOW - day)))
    assert read(given(timestamp=str(NOW + 300_000)), BATCH)
    assert "in the future" in refusal(given(timestamp=str(NOW + 300_001)))


def test_a_batch_of_a_subaccount_holds_its_events() -> None:
    batch = replace(BATCH, subaccount_id=7)
    for fields in ({}, {"subaccount_id": 7}, {"subaccount_id": "7"}, {"subaccount_id": ""}):
        assert read(given(**fields), batch)["subaccount_id"] == "7"
    for foreign in (8, "0", "8"):
        assert "subaccount_id" in refusal(given(subaccount_id=foreign), batch)
    assert "subaccount_id" not in read(given(subaccount_id=0), BATCH)


def test_ids_of_two_accounts_never_meet() -> None:
    mine, other = read(given(), BATCH), read(given(), replace(BATCH, account_id=2))
    assert mine["event_id"] != other["event_id"]
    assert mine["event_id"] == read(given(timestamp=str(NOW)), BATCH)["event_id"]
    assert (
        read(given(event_id=17), BATCH)["event_id"] == read(given(event_id="17"), BATCH)["event_id"]
    )


def test_messages_of_this_service_cannot_be_told_of() -> None:
    transmission = "191930000000000001"
    message = ids.message_id(transmission, 3)
    text = refusal(given(message_id=message, transmission_id=transmission))
    assert "of this service" in text
    assert read(given(message_id=message, transmission_id="7"), BATCH)


def test_a_status_of_a_short_message_needs_neither_id_nor_address() -> None:
    status = {"type": "sms_status", "timestamp": str(NINE), "sms_dst": "4790000001"}
    event = read(status, BATCH)
    assert event["sms_dst"] == "4790000001"
    assert event["event_id"] == read(dict(reversed(status.items())), BATCH)["event_id"]
    assert event["event_id"] != read(status | {"sms_dst": "4"}, BATCH)["event_id"]


def test_nothing_that_is_handed_in_makes_reading_fail() -> None:
    rng = random.Random(4)
    junk: list[Any] = [None, True, -1, 1.5, "", "x", "\u0000", [], {}, [[]], {"a": []}, "9" * 400]
    for _ in range(3000):
        event: Any = given(kind=rng.choice(SEARCHED))
        for name in rng.sample(sorted({*event, *TYPES["open"].fields, *TYPES["bounce"].fields}), 3):
            event[name] = rng.choice(junk)
        try:
            read(rng.choice([event, {"svc": event}, {"svc": {"message_event": event}}]), BATCH)
        except Unusable:
            continue
