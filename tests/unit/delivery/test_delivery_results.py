from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.retry import Backoff, RetryPolicy
from chalicelib.core.settings import settings
from chalicelib.delivery.delivery_results import expired, policy, results_of
from chalicelib.delivery.departures import Departures
from chalicelib.delivery.outcome import Outcome, Retry
from chalicelib.delivery.shaping.shaper import PathHold
from chalicelib.fleet.routing import Route
from tests.unit.delivery.examples import (
    DEFERRED,
    DELIVERED,
    INJECTED,
    REFUSED,
    UNIT,
    UNREACHED,
    batch_of,
    entry,
)

EXPIRY = settings().retry_expiry
OUTCOMES: st.SearchStrategy[Outcome] = st.sampled_from([DELIVERED, DEFERRED, UNREACHED, REFUSED])
ENTRIES = st.dictionaries(
    st.integers(0, 5),
    st.builds(entry, OUTCOMES, st.floats(0, 2 * EXPIRY)),
    max_size=6,
)


def only_event(outcome: Outcome, seconds: float = 2.0, attempt: int = 1) -> dict[str, Any]:
    (event,) = results_of(batch_of(1, attempt), {0: entry(outcome, seconds)}).events
    return event


def test_a_message_whose_delivery_is_reported_later_has_no_event_and_does_not_go_on() -> None:
    outcome = replace(DELIVERED, reports_later=True)
    results = results_of(batch_of(1), {0: entry(outcome, 2.0)})
    assert (results.events, results.rest) == ([], [])


@given(ENTRIES, st.integers(1, 20))
def test_the_same_batch_and_entries_give_the_same_results(entries: Any, attempt: int) -> None:
    assert results_of(batch_of(6, attempt), entries) == results_of(batch_of(6, attempt), entries)


@given(ENTRIES, st.integers(1, 20))
def test_each_message_has_one_event_or_goes_on_and_a_deferred_one_both(
    entries: Any, attempt: int
) -> None:
    batch = batch_of(6, attempt)
    results = results_of(batch, entries)
    assert [event["message_id"] for event in results.events] == [
        message.event["message_id"] for message in batch.messages if message.index in entries
    ]
    assert len({event["event_id"] for event in results.events}) == len(entries)
    going = {rest.batch.unit: [m.index for m in rest.batch.messages] for rest in results.rest}
    delayed = [e["message_id"] for e in results.events if e["type"] == "delay"]
    assert [int(name[-8:], 16) for name in delayed] == going.get(UNIT.deferred, [])
    assert [n for n in range(6) if n not in entries] == going.get(UNIT.continued, [])
    assert set(going) <= {UNIT.deferred, UNIT.continued}


@given(ENTRIES)
def test_entries_of_recipients_that_are_not_in_the_batch_change_nothing(entries: Any) -> None:
    foreign = entries | {77: entry(DELIVERED)}
    assert results_of(batch_of(6), foreign) == results_of(batch_of(6), entries)


def test_a_delivery_event_has_all_fields() -> None:
    event = only_event(DELIVERED, 2.5, attempt=3)
    event_id = event.pop("event_id")
    assert event == {
        "type": "delivery",
        "timestamp": INJECTED + 2500,
        "customer_id": "1",
        "transmission_id": UNIT.transmission_id,
        "message_id": batch_of(1).messages[0].event["message_id"],
        "rcpt_to": "r0@example.test",
        "subject": "Hi",
        "delv_method": "esmtp",
        "num_retries": "2",
        "ip_address": "192.0.2.1",
        "queue_time": "2500",
        "outbound_tls": "1",
    }
    assert event_id.isdigit()


@pytest.mark.parametrize(
    ("tls", "policy", "text"),
    [(None, None, ""), ("TLSv1.3", None, "1"), ("TLSv1.3", "dane", "dane")],
)
def test_an_event_says_how_the_message_left_over_tls(
    tls: str | None, policy: str | None, text: str
) -> None:
    outcome = replace(DELIVERED, tls=tls, tls_policy=policy)
    (event,) = results_of(batch_of(1), {0: entry(outcome)}).events
    assert event["outbound_tls"] == text


@pytest.mark.parametrize("outcome", [DELIVERED, DEFERRED, REFUSED])
def test_an_event_names_the_pool_and_ip_of_its_attempt(outcome: Outcome) -> None:
    batch = batch_of(1)
    batch = replace(batch, event=batch.event | {"ip_pool": "new"})
    route = {"ip_pool": "spare", "sending_ip": "192.0.2.7"}
    (event,) = results_of(batch, {0: entry(outcome) | {"route": route}}).events
    assert (event["ip_pool"], event["sending_ip"]) == ("spare", "192.0.2.7")
    (event,) = results_of(batch, {0: entry(outcome)}).events
    assert event["ip_pool"] == "new"
    assert "sending_ip" not in event


@pytest.mark.parametrize("outcome", [DELIVERED, DEFERRED, REFUSED])
def test_an_event_names_the_connections_ip_if_the_pool_has_none(outcome: Outcome) -> None:
    outcome_ = replace(outcome, sending_ip="10.0.0.1")
    assert only_event(outcome_)["sending_ip"] == "10.0.0.1"
    route = {"ip_pool": "spare", "sending_ip": "192.0.2.7"}
    (event,) = results_of(batch_of(1), {0: entry(outcome_) | {"route": route}}).events
    assert event["sending_ip"] == "192.0.2.7"


def test_the_bounce_of_an_expired_message_names_the_host_that_deferred_it_last() -> None:
    last = replace(DEFERRED, sending_ip="10.0.0.1")
    event = only_event(last, EXPIRY)
    assert (event["type"], event["ip_address"]) == ("bounce", "192.0.2.1")
    assert event["sending_ip"] == "10.0.0.1"


def test_a_permanent_refusal_is_a_bounce_with_its_class_code_and_reason() -> None:
    event = only_event(REFUSED)
    assert event["type"] == "bounce"
    assert (event["bounce_class"], event["error_code"]) == ("10", "550")
    assert event["reason"] == event["raw_reason"] == "550 5.1.1 no such user"
    assert event["ip_address"] == "192.0.2.1"
    assert "queue_time" not in event


def test_a_deferral_is_a_delay_with_its_class_code_and_reason() -> None:
    event = only_event(UNREACHED)
    assert event["type"] == "delay"
    assert (event["bounce_class"], event["error_code"]) == ("20", "421")
    assert event["reason"] == "421 4.4.1 [internal] connection refused"
    assert (event["queue_time"], event["outbound_tls"], event["ip_address"]) == ("2000", "", "")


def test_all_fields_of_an_attempt_are_strings_but_the_internal_time() -> None:
    for outcome in (DELIVERED, DEFERRED, REFUSED):
        event = only_event(outcome)
        assert isinstance(event.pop("timestamp"), int)
        assert {type(value) for value in event.values()} == {str}


def test_a_deferred_message_goes_on_in_a_unit_of_its_own_at_the_next_attempt() -> None:
    entries = {0: entry(DELIVERED), 1: entry(DEFERRED), 2: entry(REFUSED), 3: entry(DEFERRED)}
    (result,) = results_of(batch_of(4, attempt=2), entries).rest
    rest, delay = result.batch, result.delay
    assert (rest.unit, rest.attempt) == (UNIT.deferred, 3)
    assert [message.index for message in rest.messages] == [1, 3]
    assert rest.messages[0] == batch_of(4).messages[1]
    assert (rest.injected_ms, rest.event) == (INJECTED, batch_of(1).event)
    assert delay == pytest.approx(2400, rel=0.11)


def test_messages_without_an_attempt_go_on_at_once_at_the_same_attempt() -> None:
    (result,) = results_of(batch_of(3, attempt=2), {1: entry(DELIVERED)}).rest
    rest, delay = result.batch, result.delay
    assert (rest.unit, rest.attempt, delay) == (UNIT.continued, 2, 0.0)
    assert [message.index for message in rest.messages] == [0, 2]


def test_a_batch_without_deferred_messages_sends_nothing_on() -> None:
    assert results_of(batch_of(2), {0: entry(DELIVERED), 1: entry(REFUSED)}).rest == []


@pytest.mark.parametrize("attempt", [1, 2, 9])
def test_a_retry_past_its_expiry_becomes_a_bounce(attempt: int) -> None:
    results = results_of(batch_of(1, attempt), {0: entry(DEFERRED, EXPIRY)})
    (event,) = results.events
    assert results.rest == []
    assert event["type"] == "bounce"
    assert (event["bounce_class"], event["error_code"]) == ("24", "554")
    assert "message timeout" in event["reason"]
    assert "451 4.3.0 try later" in event["reason"]
    assert event["num_retries"] == str(attempt - 1)


def test_a_retry_just_before_the_expiry_is_due_at_the_expiry() -> None:
    results = results_of(batch_of(1, 9), {0: entry(DEFERRED, EXPIRY - 5)})
    assert results.events[0]["type"] == "delay"
    assert results.rest[0].delay == pytest.approx(5)


def test_messages_deferred_together_wait_for_the_longest_of_their_delays() -> None:
    entries = {0: entry(DEFERRED, EXPIRY - 200), 1: entry(DEFERRED, EXPIRY - 100)}
    (result,) = results_of(batch_of(2, 9), entries).rest
    rest, delay = result.batch, result.delay
    assert len(rest.messages) == 2
    assert delay == pytest.approx(200)


@pytest.mark.parametrize("outcome", [DELIVERED, REFUSED])
def test_an_outcome_after_the_expiry_stays_as_it_is(outcome: Outcome) -> None:
    late, timely = only_event(outcome, 2 * EXPIRY), only_event(outcome)
    assert late["type"] == timely["type"]
    assert late.get("reason") == timely.get("reason")


def test_each_attempt_has_events_of_its_own() -> None:
    ids = {only_event(DEFERRED, attempt=attempt)["event_id"] for attempt in (1, 2, 3)}
    assert len(ids) == 3


def test_each_message_of_a_unit_expires_at_its_own_time() -> None:
    entries = {0: entry(DEFERRED, EXPIRY - 3), 1: entry(DEFERRED, EXPIRY + 3)}
    results = results_of(replace(batch_of(2), attempt=9), entries)
    assert [event["type"] for event in results.events] == ["delay", "bounce"]
    assert [message.index for message in results.rest[0].batch.messages] == [0]


def test_the_policy_is_that_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["RETRY_BASE", "RETRY_FACTOR", "RETRY_CAP", "RETRY_EXPIRY"]
    for value, name in enumerate(names, start=1):
        monkeypatch.setenv(name, str(value))
    settings.cache_clear()
    configured = policy()
    monkeypatch.undo()
    settings.cache_clear()
    assert configured == RetryPolicy(Backoff(1, 2, 3, jitter=0.1), 4)
    default = RetryPolicy(Backoff(1200, 2, 43_200, jitter=0.1), 259_200)
    assert policy() == default


def test_an_expired_message_fails_as_a_message_timeout() -> None:
    failed = expired(Retry(451, "4.7.1 later", 70, "192.0.2.1", "TLSv1.3"))
    assert failed.code == 554
    assert failed.bounce_class == 24
    assert failed.reply == "5.4.7 [internal] message timeout, last reply: 451 4.7.1 later"
    assert (failed.ip_address, failed.tls) == ("192.0.2.1", "TLSv1.3")


def test_the_queue_time_of_a_unit_generated_anew_is_never_negative() -> None:
    # The journal on disk is older than the record that a killed local cloud has lost
    assert only_event(DELIVERED, -3.0)["queue_time"] == "0"


def test_a_unit_that_no_container_can_send_does_not_go_to_and_fro_at_once() -> None:
    elsewhere = {0: Route("default", container="east")}
    departures = Departures(
        elsewhere=elsewhere, holds={1: PathHold("p|", "why", 3_600, lasts=True)}
    )
    (stuck,) = results_of(batch_of(2), {}, departures).rest
    assert (stuck.container, stuck.delay) == ("east", 300)
    (moving,) = results_of(batch_of(3), {2: entry(DELIVERED)}, departures).rest
    assert (moving.container, moving.delay) == ("east", 0)
    (other,) = results_of(batch_of(1), {}, Departures(elsewhere=elsewhere)).rest
    assert (other.container, other.delay) == ("east", 0)


def test_a_deferred_message_chooses_its_sending_ip_again() -> None:
    """An IP that warms up counts each attempt."""
    batch = batch_of(1)
    messages = [replace(message, sending_ip="192.0.2.7") for message in batch.messages]
    (rest,) = results_of(replace(batch, messages=messages), {0: entry(DEFERRED)}).rest
    assert [message.sending_ip for message in rest.batch.messages] == [""]
