"""Events of received mail are recorded once, found by searches, and count as no mail that was sent.

The counters of searches hold them; no report of metrics has a row for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from chalicelib.core import clock
from chalicelib.core.message_event import Event
from chalicelib.core.scope import Scope
from chalicelib.events import stream, type_counts
from chalicelib.events.documentation import RELAYED
from chalicelib.events.message_search import search_messages
from chalicelib.metrics.rollup import roll_up_pending
from chalicelib.recording.worker import record_batch
from chalicelib.relaying import relay_events
from tests.fake_cloud import aws_requests, queued, sqs_event
from tests.unit.events.examples import HOUR, NINE, event_at
from tests.unit.people import make_account, make_key
from tests.unit.relaying.test_relay_events import MESSAGE, rejection
from tests.unit.suppression.examples import entries_of
from tests.unit.webhook_dispatch.simulation import make_webhook

pytestmark = pytest.mark.usefixtures("cloud")

#: The message that the received one answers
ANSWERED = event_at(NINE - HOUR, kind="injection")
ANSWER = replace(
    MESSAGE,
    subaccount_id=None,
    in_reply_to={
        "transmission_id": ANSWERED["transmission_id"],
        "message_id": ANSWERED["message_id"],
        "rcpt_to": ANSWERED["rcpt_to"],
    },
)


@pytest.fixture(autouse=True)
def _at_ten() -> Iterator[None]:
    with clock.use(lambda: (NINE + HOUR) / 1000):
        yield


def all_events() -> list[Event]:
    fields = relay_events.fields_of(replace(MESSAGE, subaccount_id=None))
    return [
        relay_events.injection(ANSWER),
        rejection(),
        relay_events.attempt("relay_tempfail", fields, NINE + 1, 0, "503 later"),
        relay_events.attempt("relay_delivery", fields, NINE + 2, 1),
        relay_events.attempt("relay_permfail", fields, NINE + 3, 2, "550 5.1.1 no such user"),
    ]


def record(events: list[Event]) -> None:
    stream.emit(events)
    assert record_batch(sqs_event(queued("events"))) == {"batchItemFailures": []}


def types(**query: str) -> list[str]:
    return sorted(event["type"] for event in search_messages(1, query).events)


def test_a_redelivered_event_is_found_and_counted_once() -> None:
    record(all_events())
    record(all_events()[::-1])
    roll_up_pending()
    assert types() == types(recipients="HELP+9@in.test") == sorted(RELAYED)
    assert search_messages(1, {}).total == search_messages(1, {"subaccounts": "0"}).total == 5
    assert search_messages(1, {"events": "relay_delivery,relay_tempfail"}).total == 2
    assert types(recipient_domains="in.test", events="relay_rejection") == ["relay_rejection"]


def test_an_answer_is_in_the_timeline_of_the_message_that_it_answers() -> None:
    record([ANSWERED])
    record(all_events())
    for query in ("messages", "message_id"), ("transmissions", "transmission_id"):
        name, field = query
        assert types(**{name: str(ANSWERED.get(field))}) == ["injection", "relay_injection"]
    counts = type_counts.count_by_type(1, {"messages": ANSWERED["message_id"]})
    assert counts == {"injection": 1, "relay_injection": 1}


def test_received_mail_is_in_no_report_and_on_no_suppression_list() -> None:
    make_account(1)
    client = make_key(1)
    subaccounts = [replace(ANSWER, id=f"{n:026x}", subaccount_id=7) for n in range(3)]
    record([*all_events(), *map(relay_events.injection, subaccounts)])
    roll_up_pending()
    window = "from=2026-01-31T08:00&to=2026-01-31T11:00&metrics=count_bounce"
    for dimension in ("", "/subaccount", "/domain", "/sending-domain", "/bounce-reason"):
        rows = client.get(f"/api/v1/metrics/deliverability{dimension}?{window}").results
        assert rows == ([] if dimension else [{"count_bounce": 0}])
    assert client.get(f"/api/v1/metrics/domains?{window}").results == {"domains": []}
    assert client.get("/api/v1/account?include=usage").results["usage"]["month"]["used"] == 0
    assert entries_of(Scope(1, None), "help+9@in.test") == []


def test_a_webhook_gets_those_that_it_selects() -> None:
    make_webhook("https://hook.test/", events=("relay_injection", "relay_delivery"))
    record(all_events())
    (body,) = queued("webhook-events")
    assert '"count":2' in body


@pytest.mark.cost
def test_the_events_of_ten_messages_share_their_requests() -> None:
    messages = [replace(MESSAGE, id=f"{NINE:012x}{n:014x}") for n in range(10)]
    stream.emit([relay_events.injection(each) for each in messages])
    bodies = queued("events")
    with aws_requests() as requests:
        record_batch(sqs_event(bodies))
    operations = [each.operation for each in requests]
    assert operations.count("TransactWriteItems") == 1
    assert len(requests) <= 5
