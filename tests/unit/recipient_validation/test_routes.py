"""One address is judged over the API, by its domain and by what the account knows about it."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from chalicelib.core import clock
from chalicelib.events import service as events
from chalicelib.recording.suppression import suppress
from tests.fake_cloud import aws_requests
from tests.unit.calling import Client
from tests.unit.events.examples import event_at
from tests.unit.people import make_account, make_key, make_subaccount
from tests.unit.zones import Zone

DAY_MS = 86_400_000
PATH = "/api/v1/recipient-validation/single"


def validated(client: Client, address: str) -> dict[str, Any]:
    return client.get(f"{PATH}/{quote(address, safe='')}").results


def test_a_good_address_shows_all_that_is_known(client: Client) -> None:
    assert validated(client, "ann@inbox.test") == {
        "valid": True,
        "result": "valid",
        "delivery_confidence": 85,
        "is_role": False,
        "is_disposable": False,
        "is_free": False,
    }


@pytest.mark.parametrize(
    ("address", "result", "reason"),
    [
        ("nobody", "undeliverable", "Invalid Syntax"),
        ("a b@inbox.test", "undeliverable", "Invalid Syntax"),
        ("ann@nowhere.test", "undeliverable", "Invalid Domain"),
        ("ann@null.test", "undeliverable", "Invalid Domain"),
        ("ann@broken.test", "neutral", None),
        ("ann@plain.test", "neutral", None),
        ("ann@bücher.test", "valid", None),
        ("ann@BÜCHER.test", "valid", None),
        ("änn@inbox.test", "valid", None),
        ("ann+tag/x%y@inbox.test", "valid", None),
        ('"a b"@inbox.test', "valid", None),
        ("support@inbox.test", "risky", None),
        ("ann@mailinator.com", "risky", None),
        ("ann@mail.com", "valid", None),
        ("ann@gmial.com", "typo", "Invalid Domain"),
        ("ann@hotmial.com", "typo", "Invalid Domain"),
    ],
)
def test_an_address_has_a_result_and_a_reason(
    client: Client, address: str, result: str, reason: str | None
) -> None:
    verdict = validated(client, address)
    assert (verdict["result"], verdict.get("reason")) == (result, reason)
    assert ("did_you_mean" in verdict) == (result == "typo")


def test_a_hard_bounce_makes_an_address_undeliverable(client: Client) -> None:
    suppress(
        [event_at(clock.now_ms(), kind="bounce", recipient="gone@inbox.test", bounce_class="10")]
    )
    suppress(
        [event_at(clock.now_ms(), kind="bounce", recipient="full@inbox.test", bounce_class="22")]
    )
    verdict = validated(client, "Gone@Inbox.Test")
    assert verdict["result"] == "undeliverable"
    assert verdict["reason"] == "Invalid Recipient"
    assert verdict["delivery_confidence"] == 0
    assert validated(client, "full@inbox.test")["result"] == "valid"


@pytest.mark.parametrize("type", ["transactional", "non_transactional"])
def test_a_suppressed_address_is_undeliverable(client: Client, type: str) -> None:
    client.put("/api/v1/suppression-list/ann@inbox.test", {"type": type})
    assert validated(client, "ann@inbox.test")["reason"] == "Invalid Recipient"
    assert validated(client, "bob@inbox.test")["result"] == "valid"


def test_who_left_one_mailing_list_still_gets_other_mail(client: Client) -> None:
    body = {"type": "non_transactional", "list_id": "news.inbox.test"}
    client.put("/api/v1/suppression-list/ann@inbox.test", body)
    assert validated(client, "ann@inbox.test")["result"] == "valid"


@pytest.mark.parametrize(("days", "confidence"), [(1, 99), (89, 99), (91, 85)])
def test_a_delivery_within_ninety_days_raises_the_confidence(
    client: Client, days: int, confidence: int
) -> None:
    events.put_all([event_at(clock.now_ms() - days * DAY_MS, recipient="ann@inbox.test")])
    assert validated(client, "Ann@inbox.test")["delivery_confidence"] == confidence
    assert validated(client, "bob@inbox.test")["delivery_confidence"] == 85


def test_only_a_delivery_counts_among_the_events(client: Client) -> None:
    now = clock.now_ms()
    kinds = ("injection", "delay", "bounce")
    events.put_all([event_at(now, kind=kind, recipient="ann@inbox.test") for kind in kinds])
    assert validated(client, "ann@inbox.test")["delivery_confidence"] == 85


def test_a_delivery_is_known_while_the_dns_gives_no_answer(client: Client) -> None:
    events.put_all([event_at(clock.now_ms(), recipient="ann@broken.test")])
    assert validated(client, "ann@broken.test")["result"] == "valid"


def test_each_part_of_an_account_has_its_own_knowledge(client: Client) -> None:
    one, two = make_subaccount(1).id, make_subaccount(1).id
    of_one, of_two = client.on_behalf_of(one), client.on_behalf_of(two)
    of_one.put("/api/v1/suppression-list/ann@inbox.test", {"type": "transactional"})
    delivery = event_at(clock.now_ms(), recipient="bob@inbox.test", subaccount_id=str(one))
    events.put_all([delivery])
    for caller, result, confidence in (
        (of_one, "undeliverable", 99),
        (of_two, "valid", 85),
        (client.on_behalf_of(0), "valid", 85),
        (client, "valid", 99),  # sees the deliveries of its subaccounts, not their wishes
    ):
        assert validated(caller, "ann@inbox.test")["result"] == result
        assert validated(caller, "bob@inbox.test")["delivery_confidence"] == confidence


def test_another_account_knows_nothing_of_it(client: Client) -> None:
    make_account(2)
    client.put("/api/v1/suppression-list/ann@inbox.test", {"type": "transactional"})
    assert validated(make_key(2), "ann@inbox.test")["result"] == "valid"


def test_a_key_without_the_grant_is_refused(client: Client) -> None:
    key = make_key(1, grants=["recipient_lists/manage"])
    assert key.get(f"{PATH}/ann@inbox.test").status == 403


@pytest.mark.cost
def test_an_address_takes_two_requests_and_a_bad_one_none(client: Client, zone: Zone) -> None:
    validated(client, "warm@inbox.test")
    for address, operations in (
        ("ann@inbox.test", ["BatchGetItem", "Query"]),
        ("ann@nowhere.test", []),
        ("nobody", []),
    ):
        with aws_requests() as requests:
            validated(client, address)
        assert [each.operation for each in requests] == operations
