from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.events.documentation import SEARCHED, TYPES, sample
from chalicelib.events.model import Sender, make_event, recipient_fields
from chalicelib.events.view import event_view
from tests.unit.events.examples import NINE, event_at

SENDER = Sender(
    account_id=1,
    subaccount_id=7,
    transmission_id="99",
    recv_method="rest",
    campaign_id="spring",
    template_id="welcome",
    template_version="2",
    ip_pool="fast",
    transactional=True,
    open_tracking=True,
    click_tracking=True,
    initial_pixel=True,
    scheduled_time="1769850000",
)

NOT_STRINGS = {
    "amp_enabled": bool,
    "click_tracking": bool,
    "open_tracking": bool,
    "initial_pixel": bool,
    "rcpt_meta": dict,
    "rcpt_tags": list,
    "rcpt_subs": dict,
    "geo_ip": dict,
    "user_agent_parsed": dict,
}


def test_fields_that_do_not_apply_are_left_out() -> None:
    fields = Sender(1, None, "99", "esmtp").fields()
    assert fields == {
        "customer_id": "1",
        "transmission_id": "99",
        "recv_method": "esmtp",
        "ip_pool": "default",
        "open_tracking": False,
        "click_tracking": False,
        "initial_pixel": False,
        "amp_enabled": False,
    }


def test_the_fields_of_the_sender_are_in_the_event() -> None:
    fields = SENDER.fields()
    assert fields["subaccount_id"] == "7"
    assert fields["campaign_id"] == "spring"
    assert fields["template_id"] == "welcome"
    assert fields["template_version"] == "2"
    assert fields["transactional"] == "1"
    assert fields["scheduled_time"] == "1769850000"


def test_the_recipient_is_in_lower_case_and_in_the_original_form() -> None:
    fields = recipient_fields("Ann.Lee@Example.TEST", metadata={"a": 1}, tags=["x"])
    assert fields["rcpt_to"] == "ann.lee@example.test"
    assert fields["raw_rcpt_to"] == "Ann.Lee@Example.TEST"
    assert fields["recipient_domain"] == fields["routing_domain"] == "example.test"
    assert (fields["rcpt_meta"], fields["rcpt_tags"]) == ({"a": 1}, ["x"])
    assert "rcpt_type" not in fields
    assert recipient_fields("a@b.c", metadata={}, tags=[], rcpt_type="cc")["rcpt_type"] == "cc"


def test_the_recipient_hash_does_not_depend_on_case() -> None:
    upper = recipient_fields("ANN@B.C", metadata={}, tags=[])
    lower = recipient_fields("ann@b.c", metadata={}, tags=[])
    assert upper["rcpt_hash"] == lower["rcpt_hash"]
    assert len(upper["rcpt_hash"]) == 40


@pytest.mark.parametrize("kind", SEARCHED)
def test_fields_are_strings_except_flags_metadata_and_tags(kind: str) -> None:
    base = SENDER.fields() | recipient_fields("a@b.c", metadata={"n": 1}, tags=["t"])
    for event in (make_event(kind, base, NINE, attempt=1, num_retries="0"), sample(kind)):
        for name, value in event_view(event).items():
            assert isinstance(value, NOT_STRINGS.get(name, str)), name


def test_ingest_events_have_numbers_and_a_flag() -> None:
    view = event_view(sample("error"))
    numbers = ("number_succeeded", "number_failed", "number_duplicates")
    assert all(type(view[name]) is int for name in numbers)
    assert view["retryable"] is False
    assert view["timestamp"] == clock.iso_ms(sample("error")["timestamp"])
    assert view["expiration_timestamp"].endswith(".000Z")


def test_fields_of_the_service_itself_are_not_shown() -> None:
    event = event_at(NINE) | {"observed": {"unit": 0}, "some_field_of_ours": 1}
    assert event_view(event) == event_view(event_at(NINE))


def test_a_number_in_a_field_of_text_is_shown_as_text() -> None:
    view = event_view(event_at(NINE) | {"msg_size": 17, "subject": None})
    assert view["msg_size"] == "17"
    assert "subject" not in view


def test_making_an_event_again_makes_the_same_event() -> None:
    assert event_at(NINE, 3) == event_at(NINE, 3)


@pytest.mark.spec("6-r2")
def test_events_of_other_messages_types_or_attempts_have_ids_of_their_own() -> None:
    events = [
        event_at(NINE, 0),
        event_at(NINE, 1),
        event_at(NINE, 0, "bounce"),
        event_at(NINE, 0, "delay", attempt=1),
        event_at(NINE, 0, "delay", attempt=2),
        event_at(NINE, 0, "open", nonce="a"),
        event_at(NINE, 0, "open", nonce="b"),
    ]
    assert len({event["event_id"] for event in events}) == len(events)


def test_without_a_message_the_event_id_derives_from_transmission_and_recipient() -> None:
    base: dict[str, Any] = {"transmission_id": "99", "rcpt_to": "a@b.c"}
    first = make_event("generation_failure", base, NINE)
    assert first["event_id"] == make_event("generation_failure", base, NINE)["event_id"]
    for other in ({"transmission_id": "98"}, {"rcpt_to": "b@b.c"}):
        assert make_event("generation_failure", base | other, NINE)["event_id"] != first["event_id"]


def test_fields_of_the_event_replace_those_of_the_message_without_changing_it() -> None:
    base = {"message_id": "m", "num_retries": "0"}
    assert make_event("delay", base, NINE, num_retries="1")["num_retries"] == "1"
    assert base == {"message_id": "m", "num_retries": "0"}


@pytest.mark.spec("4.10-t1")
def test_the_search_shows_a_date_in_utc_with_milliseconds_a_label_and_a_description() -> None:
    event = event_at(NINE + 7)
    view = event_view(event)
    assert view["timestamp"] == "2026-01-31T09:00:00.007Z"
    assert view["display_name"] == "Delivery"
    assert view["event_description"] == TYPES["delivery"].description
    assert event["timestamp"] == NINE + 7
