from __future__ import annotations

import pytest

from chalicelib.core.scope import Scope
from chalicelib.events.model import make_event
from chalicelib.recording.suppression import suppress, without_suppressed_opens
from chalicelib.suppression import service as suppression
from chalicelib.suppression.store.items import entries_of
from chalicelib.tracking.engagement import OPENS
from tests.fake_cloud import aws_requests
from tests.unit.metrics.examples import mail

pytestmark = pytest.mark.usefixtures("cloud")


def test_an_address_that_is_too_long_in_lower_case_stops_nothing() -> None:
    recipients = [("\u023a" * 32 + "@x.test").lower(), "ann@x.test"]
    suppress(
        make_event("spam_complaint", {"customer_id": "1", "message_id": str(n), "rcpt_to": each}, 1)
        for n, each in enumerate(recipients)
    )
    for each in recipients:
        (entry,) = entries_of(Scope(1, 0), each)
        assert (entry.type, entry.source) == ("non_transactional", "Spam Complaint")


def object_to_opens(recipient: str, subaccount: int | None = None) -> None:
    suppression.add(1, subaccount, recipient, "open_tracking", "Tracking Consent Revoked", "")


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
