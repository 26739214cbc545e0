from __future__ import annotations

import pytest

from chalicelib.recording.unwanted import without_unwanted
from chalicelib.suppression import service as suppression
from chalicelib.tracking.engagement import OPENS
from tests.fake_cloud import aws_requests
from tests.unit.metrics.examples import mail

pytestmark = pytest.mark.usefixtures("cloud")


def object_to_opens(recipient: str, subaccount: int | None = None) -> None:
    suppression.add(1, subaccount, recipient, "open_tracking", "Tracking Consent Revoked", "")


def test_opens_of_who_objects_are_dropped_and_nothing_else() -> None:
    object_to_opens("r0@x.test")
    objecting, other = mail(1, 0), mail(1, 1)
    kinds = [*OPENS, "click", "delivery"]
    events = [each.event(kind, 0) for each in (objecting, other) for kind in kinds]
    kept = without_unwanted(events)
    assert kept == [objecting.event("click", 0), objecting.event("delivery", 0)] + [
        other.event(kind, 0) for kind in kinds
    ]


def test_it_is_the_list_of_the_sender_that_says_so() -> None:
    object_to_opens("r0@x.test", subaccount=7)
    opened = [mail(1, 0).event("open", 0), mail(1, 0, subaccount=7).event("open", 0)]
    assert without_unwanted(opened) == opened[:1]


def test_a_hundred_recipients_take_one_request_and_none_none() -> None:
    opens = [mail(1, n).event("open", 0) for n in range(100)]
    with aws_requests() as made:
        assert len(without_unwanted(opens)) == 100
    assert [each.operation for each in made] == ["BatchGetItem"]
    with aws_requests() as made:
        without_unwanted([mail(1).event("delivery", 0)])
    assert made == []
