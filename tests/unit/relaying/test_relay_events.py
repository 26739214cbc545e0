"""The events of received mail have the fields that are documented for their types."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.message_event import Event
from chalicelib.events.documentation import RELAYED, TYPES, documented_fields
from chalicelib.received_mail.inbound_queue import InboundRecipient
from chalicelib.received_mail.model import ReceivedMessage
from chalicelib.relaying import relay_events
from chalicelib.relaying.relay_events import AttemptKind, fields_of
from chalicelib.webhooks import payload
from tests.unit.events.examples import NINE

MESSAGE = ReceivedMessage(
    id="019c12d3e400aaaaaaaaaaaa01",
    account_id=1,
    subaccount_id=7,
    domain="in.test",
    received_ms=NINE,
    rcpt_to="Help+9@In.test",
    mail_from="ann@inbox.test",
    peer_ip="192.0.2.1",
    helo="mx.inbox.test",
    tls="TLSv1.3",
    size=1234,
    action="webhook",
    webhook_id="839",
    subject="Re: Order",
    friendly_from="ann@inbox.test",
)
RECIPIENT: InboundRecipient = {
    "index": 1,
    "address": "Help+9@In.test",
    "account_id": 1,
    "subaccount_id": None,
    "domain": "in.test",
}
COMMON = {
    "customer_id": "1",
    "msg_from": "ann@inbox.test",
    "origination": "inbound",
    "protocol": "smtp",
    "raw_rcpt_to": "Help+9@In.test",
    "rcpt_to": "help+9@in.test",
    "recipient_domain": "in.test",
    "recv_method": "esmtp",
    "relay_id": "019c12d3e400aaaaaaaaaaaa01",
    "routing_domain": "in.test",
}


def shown(event: Event) -> dict[str, Any]:
    """Return an event as it is shown, without its id."""
    fields: dict[str, Any] = {**documented_fields(event["type"], event)}
    assert fields == event, "a field is not documented"
    assert fields.pop("event_id").isdigit()
    return fields


def rejection(code: int = 554, reason: str = "5.4.6 The message was here before") -> Event:
    return relay_events.rejection(
        RECIPIENT,
        message_id="019c12d3e400aaaaaaaaaaaa",
        mail_from="ann@inbox.test",
        peer_ip="192.0.2.1",
        at_ms=NINE,
        code=code,
        reason=reason,
    )


def test_a_received_message_has_an_injection() -> None:
    assert shown(relay_events.injection(MESSAGE)) == {
        **COMMON,
        "type": "relay_injection",
        "timestamp": NINE,
        "subaccount_id": "7",
        "webhook_id": "839",
        "injection_time": clock.iso_ms(NINE),
        "msg_size": "1234",
        "subject": "Re: Order",
        "friendly_from": "ann@inbox.test",
    }


def test_the_injection_of_an_answer_has_the_ids_of_the_message_that_it_answers() -> None:
    answer = replace(
        MESSAGE,
        in_reply_to={"transmission_id": "17", "message_id": "0" * 24, "rcpt_to": "ann@inbox.test"},
    )
    event = relay_events.injection(answer)
    assert (event["transmission_id"], event["message_id"]) == ("17", "0" * 24)
    assert event["event_id"] == relay_events.injection(MESSAGE)["event_id"]
    assert event["rcpt_to"] == "help+9@in.test"
    assert {"transmission_id", "message_id"} <= set(shown(event))


def test_a_rejection_says_who_was_refused_and_why() -> None:
    assert shown(rejection()) == {
        **COMMON,
        "type": "relay_rejection",
        "timestamp": NINE,
        "remote_addr": "192.0.2.1",
        "error_code": "554",
        "reason": "554 5.4.6 The message was here before",
        "raw_reason": "554 5.4.6 The message was here before",
    }
    assert rejection(552, "552 5.3.4 Too large")["reason"] == "552 5.3.4 Too large"


def test_a_delivery_tells_how_long_it_took() -> None:
    event = relay_events.attempt("relay_delivery", fields_of(MESSAGE), NINE + 2500, 1)
    assert shown(event) == {
        **COMMON,
        "type": "relay_delivery",
        "timestamp": NINE + 2500,
        "subaccount_id": "7",
        "webhook_id": "839",
        "injection_time": clock.iso_ms(NINE),
        "msg_size": "1234",
        "num_retries": "1",
        "queue_time": "2500",
        "delv_method": "http",
    }


@pytest.mark.parametrize("kind", ["relay_tempfail", "relay_permfail"])
@pytest.mark.parametrize(
    ("reason", "code"), [("503 Service Unavailable", "503"), ("the connection was refused", None)]
)
def test_a_failure_has_the_status_of_its_response(
    kind: AttemptKind, reason: str, code: str | None
) -> None:
    event = relay_events.attempt(kind, fields_of(MESSAGE), NINE, 2, reason)
    assert (event["reason"], event["raw_reason"], event.get("error_code")) == (reason, reason, code)
    assert event["num_retries"] == "2"
    shown(event)


def test_each_event_of_a_message_has_an_id_of_its_own_that_stays() -> None:
    def events() -> list[Event]:
        fields = fields_of(MESSAGE)
        return [
            relay_events.injection(MESSAGE),
            relay_events.injection(replace(MESSAGE, id=MESSAGE.id[:-1] + "2")),
            rejection(),
            *(
                relay_events.attempt(kind, fields, NINE, attempt)
                for kind in relay_events.AttemptKind.__args__  # type: ignore[attr-defined]
                for attempt in (0, 1)
            ),
        ]

    event_ids = [event["event_id"] for event in events()]
    assert len(set(event_ids)) == len(event_ids)
    assert event_ids == [event["event_id"] for event in events()]


def test_webhooks_wrap_them_as_relay_events() -> None:
    assert [*payload.wrapped(rejection())["svc"]] == ["relay_event"]


def test_the_service_makes_each_type_of_them() -> None:
    assert set(RELAYED) == {
        "relay_injection",
        "relay_rejection",
        *relay_events.AttemptKind.__args__,  # type: ignore[attr-defined]
    }
    assert set(RELAYED) < set(TYPES)
