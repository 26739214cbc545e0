from __future__ import annotations

import pytest

from chalicelib.recipient_validation.model import History, MailRoute, Verdict, judge

NOTHING = History()
DELIVERED = History(delivered=True)


def verdict(
    address: str, route: MailRoute = MailRoute.HOSTS, history: History = NOTHING
) -> Verdict:
    return judge(address, route, history)


def outcome(address: str, route: MailRoute, history: History = NOTHING) -> tuple[bool, str, str]:
    judged = judge(address, route, history)
    return judged.valid, judged.result, judged.reason


@pytest.mark.parametrize(
    ("address", "route", "expected"),
    [
        ("ann@example.com", MailRoute.HOSTS, (True, "valid", "")),
        ("ann@example.com", MailRoute.ADDRESS, (True, "neutral", "")),
        ("ann@example.com", MailRoute.UNKNOWN, (True, "neutral", "")),
        ("ann@example.com", MailRoute.NONE, (False, "undeliverable", "Invalid Domain")),
        ("ann@example.com", MailRoute.REFUSED, (False, "undeliverable", "Invalid Domain")),
        ("ann@gmial.com", MailRoute.NONE, (False, "typo", "Invalid Domain")),
        ("ann@gmial.com", MailRoute.HOSTS, (True, "typo", "Invalid Domain")),
        ("ann@example", MailRoute.HOSTS, (False, "undeliverable", "Invalid Syntax")),
        ("ann@\u0378\u0378.example", MailRoute.HOSTS, (False, "undeliverable", "Invalid Domain")),
        ("info@example.com", MailRoute.HOSTS, (True, "risky", "")),
        ("ann@mailinator.com", MailRoute.HOSTS, (True, "risky", "")),
    ],
)
def test_the_domain_and_the_kind_of_address_decide(
    address: str, route: MailRoute, expected: tuple[bool, str, str]
) -> None:
    assert outcome(address, route) == expected


def test_a_suppressed_recipient_is_undeliverable_whatever_the_domain_says() -> None:
    suppressed = History(suppressed=True)
    for route in (MailRoute.HOSTS, MailRoute.ADDRESS, MailRoute.UNKNOWN):
        assert outcome("ann@example.com", route, suppressed)[1:] == (
            "undeliverable",
            "Invalid Recipient",
        )
    assert outcome("ann@example.com", MailRoute.NONE, suppressed)[2] == "Invalid Domain"


@pytest.mark.parametrize("address", ["ann@example.com", "info@example.com", "a@mailinator.com"])
@pytest.mark.parametrize("route", [MailRoute.HOSTS, MailRoute.ADDRESS, MailRoute.UNKNOWN])
def test_a_recent_delivery_raises_the_confidence(address: str, route: MailRoute) -> None:
    before, after = verdict(address, route), verdict(address, route, DELIVERED)
    assert 0 < before.confidence < after.confidence <= 100
    assert after.result == ("risky" if before.result == "risky" else "valid")


def test_what_mail_should_not_go_to_has_less_confidence_than_anything_else() -> None:
    bad = [verdict("ann@gmial.com"), verdict("ann@x.com", MailRoute.NONE), verdict("ann")]
    good = [
        verdict("info@x.com"),
        verdict("a@mailinator.com"),
        verdict("a@x.com", MailRoute.UNKNOWN),
    ]
    assert max(each.confidence for each in bad) < min(each.confidence for each in good)


def test_a_typo_comes_with_the_whole_corrected_address() -> None:
    assert verdict("Ann.Lee+x@hotmial.com", MailRoute.NONE).did_you_mean == "Ann.Lee+x@hotmail.com"
    assert verdict("ann@hotmail.com").did_you_mean == ""


@pytest.mark.parametrize(
    ("address", "kinds"),
    [
        ("postmaster@example.com", (True, False, False)),
        ("Support+42@example.com", (True, False, False)),
        ("list-request@example.com", (True, False, False)),
        ("supporter@example.com", (False, False, False)),
        ("ann@gmail.com", (False, False, True)),
        ("ann@YAHOO.co.uk", (False, False, True)),
        ("ann@mailinator.com", (False, True, False)),
        ("ann@sub.mailinator.com", (False, True, False)),
        ("info@web.de", (True, False, True)),
    ],
)
def test_roles_and_providers_are_told(address: str, kinds: tuple[bool, bool, bool]) -> None:
    judged = verdict(address)
    assert (judged.role, judged.disposable, judged.free) == kinds
