from __future__ import annotations

import pytest

from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.key_pair import generate_key
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains.dns_checks import Outcome, check_cname, check_dkim, check_mx
from tests.unit.zones import Zone

LONG = generate_key(2048).public_b64
KEY = DkimKey("Sel", "a.test", LONG, b"")


@pytest.mark.spec("8-t9")
def test_a_key_in_several_strings_is_found(zone: Zone) -> None:
    zone.set("sel._domainkey.a.test", ("TXT", txt_record(LONG)))
    assert len(txt_record(LONG)) > 255
    assert check_dkim(KEY) == Outcome(txt_record(LONG))


def test_a_key_behind_a_cname_is_found(zone: Zone) -> None:
    zone.set("sel._domainkey.a.test", ("CNAME", "keys.b.test"))
    zone.set("keys.b.test", ("TXT", txt_record(LONG)))
    assert check_dkim(KEY).error == ""


def test_the_error_for_a_missing_key_contains_the_record_name(zone: Zone) -> None:
    outcome = check_dkim(KEY)
    assert outcome.record == ""
    assert outcome.error == "DNS DKIM query error at Sel._domainkey.a.test: no TXT record"


def test_a_wrong_record_is_shown_with_the_reason(zone: Zone) -> None:
    zone.set("sel._domainkey.a.test", ("TXT", "v=DKIM1; k=rsa"), ("TXT", "else"))
    outcome = check_dkim(KEY)
    assert sorted(outcome.record.split(", ")) == ["else", "v=DKIM1; k=rsa"]
    assert "is missing a p= tag" in outcome.error


@pytest.mark.spec("2.5-r3")
@pytest.mark.parametrize("target", ["system.test", "System.Test", "SYSTEM.TEST."])
def test_a_cname_to_the_mail_domain_is_valid(zone: Zone, target: str) -> None:
    zone.set("a.test", ("CNAME", target))
    assert check_cname("a.test", "system.test") == Outcome("system.test")


def test_a_cname_that_leads_to_the_mail_domain_through_others_is_valid(zone: Zone) -> None:
    zone.set("a.test", ("CNAME", "b.test"))
    zone.set("b.test", ("CNAME", "system.test"))
    zone.failing.add("system.test")
    assert check_cname("a.test", "system.test").error == "", "the target itself is not looked up"


def test_a_cname_to_another_domain_is_shown_with_the_reason(zone: Zone) -> None:
    zone.set("a.test", ("CNAME", "b.test"))
    zone.set("b.test", ("CNAME", "c.test"))
    outcome = check_cname("a.test", "system.test")
    assert outcome.record == "b.test"
    assert outcome.error == "the CNAME of a.test leads to c.test, not to system.test"


def test_the_error_for_a_missing_cname_contains_the_target(zone: Zone) -> None:
    zone.set("a.test", ("A", "127.0.0.1"))
    for name in ("a.test", "unknown.test"):
        outcome = check_cname(name, "system.test")
        assert outcome == Outcome("", f"{name} has no CNAME record; it should lead to system.test")


@pytest.mark.spec("2.5-r4")
def test_all_mx_records_must_name_the_mail_domain(zone: Zone) -> None:
    assert "no MX record" in check_mx("a.test", "system.test").error
    zone.set("a.test", ("MX", "10 System.test"), ("MX", "20 system.test"))
    assert check_mx("a.test", "system.test") == Outcome("system.test")
    zone.set("a.test", ("MX", "10 system.test"), ("MX", "20 other.test"))
    outcome = check_mx("a.test", "system.test")
    assert outcome.record == "system.test, other.test"
    assert "alone" in outcome.error


def test_an_outcome_says_when_the_dns_gave_no_answer(zone: Zone) -> None:
    zone.failing |= {"sel._domainkey.a.test", "a.test"}
    for outcome in (
        check_dkim(KEY),
        check_cname("a.test", "system.test"),
        check_mx("a.test", "system.test"),
    ):
        assert not outcome.answered
        assert "gave no answer" in outcome.error


@pytest.mark.spec("3-t13")
@pytest.mark.parametrize(
    ("outcome", "before", "after"),
    [
        (Outcome("r"), "unverified", "valid"),
        (Outcome("r"), "invalid", "valid"),
        (Outcome("", "wrong"), "unverified", "invalid"),
        (Outcome("", "wrong"), "valid", "invalid"),
        (Outcome("", "silence", answered=False), "unverified", "pending"),
        (Outcome("", "silence", answered=False), "pending", "pending"),
        (Outcome("", "silence", answered=False), "valid", "valid"),
        (Outcome("", "silence", answered=False), "invalid", "invalid"),
    ],
)
def test_a_status_follows_the_outcome_and_stays_without_an_answer(
    outcome: Outcome, before: str, after: str
) -> None:
    assert outcome.status_after(before) == after
