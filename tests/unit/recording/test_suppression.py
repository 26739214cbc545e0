from __future__ import annotations

import pytest

from chalicelib.core.message_event import Event
from chalicelib.core.scope import Scope
from chalicelib.events.model import make_event
from chalicelib.recording.suppression import suppress, without_suppressed_opens
from chalicelib.suppression import service as suppression
from chalicelib.tracking.engagement import OPENS
from tests.fake_cloud import aws_requests
from tests.unit.metrics.examples import mail
from tests.unit.suppression.examples import entries_of, entry

pytestmark = pytest.mark.usefixtures("cloud")


def test_an_address_that_is_too_long_in_lower_case_stops_nothing() -> None:
    recipients = [("\u023a" * 32 + "@x.test").lower(), "ann@x.test"]
    suppress(
        make_event("spam_complaint", {"customer_id": "1", "message_id": str(n), "rcpt_to": each}, 1)
        for n, each in enumerate(recipients)
    )
    for each in recipients:
        (only,) = entries_of(Scope(1, 0), each)
        assert (only.type, only.source) == ("non_transactional", "Spam Complaint")


@pytest.mark.parametrize(
    ("kind", "source"),
    [("list_unsubscribe", "List Unsubscribe"), ("link_unsubscribe", "Unsubscribe Link")],
)
@pytest.mark.parametrize(
    ("fields", "kinds"),
    [
        ({}, [("non_transactional", "")]),
        ({"transactional": "1"}, [("non_transactional", "")]),
        ({"list_id": "News"}, [("non_transactional", "News")]),
        (
            {"list_id": "News", "transactional": "1"},
            [("non_transactional", "News"), ("transactional", "News")],
        ),
    ],
)
def test_an_unsubscription_is_from_the_mailing_list_or_from_non_transactional_mail(
    kind: str, source: str, fields: Event, kinds: list[tuple[str, str]]
) -> None:
    base = {"customer_id": "1", "message_id": "m", "rcpt_to": "ann@x.test", **fields}
    for _ in range(2):
        suppress([make_event(kind, base, 1)])
    entries = entries_of(Scope(1, 0), "ann@x.test")
    assert sorted((each.type, each.list_id) for each in entries) == kinds
    assert {each.source for each in entries} == {source}


def test_unsubscribing_from_several_lists_at_once_is_from_all_of_them() -> None:
    base = {"customer_id": "1", "message_id": "m", "rcpt_to": "ann@x.test"}
    ids = {"news", "sports", ""}
    suppress(make_event("list_unsubscribe", {**base, "list_id": each}, 1) for each in ids)
    assert {each.list_id for each in entries_of(Scope(1, 0), "ann@x.test")} == ids


def test_a_complaint_about_mail_of_a_list_is_about_all_non_transactional_mail() -> None:
    base = {"customer_id": "1", "message_id": "m", "rcpt_to": "ann@x.test", "list_id": "news"}
    suppress([make_event("spam_complaint", base, 1)])
    (only,) = entries_of(Scope(1, 0), "ann@x.test")
    assert (only.type, only.list_id) == ("non_transactional", "")


def object_to_opens(recipient: str, subaccount: int | None = None) -> None:
    objection = entry(recipient, "open_tracking", "Tracking Consent Revoked")
    suppression.add_all(1, subaccount, [objection])


def test_only_opens_of_objecting_recipients_are_dropped() -> None:
    object_to_opens("r0@x.test")
    objector, other = mail(1, 0), mail(1, 1)
    kinds = [*OPENS, "click", "delivery"]
    events = [each.event(kind, 0) for each in (objector, other) for kind in kinds]
    recordable = without_suppressed_opens(events)
    assert recordable == [objector.event("click", 0), objector.event("delivery", 0)] + [
        other.event(kind, 0) for kind in kinds
    ]


def test_the_senders_own_list_decides() -> None:
    object_to_opens("r0@x.test", subaccount=7)
    open_events = [mail(1, 0).event("open", 0), mail(1, 0, subaccount=7).event("open", 0)]
    assert without_suppressed_opens(open_events) == open_events[:1]


@pytest.mark.cost
def test_a_hundred_recipients_take_one_request_and_no_recipient_none() -> None:
    opens = [mail(1, n).event("open", 0) for n in range(100)]
    with aws_requests() as requests:
        assert len(without_suppressed_opens(opens)) == 100
    assert [each.operation for each in requests] == ["BatchGetItem"]
    with aws_requests() as requests:
        without_suppressed_opens([mail(1).event("delivery", 0)])
    assert requests == []
