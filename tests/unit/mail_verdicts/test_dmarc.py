"""DMARC follows RFC 9989: alignment by organizational domains, policies, and their test mode."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.core.cached_dns import Lookups
from chalicelib.mail_verdicts.dmarc import judge_dmarc
from chalicelib.mail_verdicts.model import DkimVerdict, DmarcVerdict, SpfVerdict
from tests.unit.mail_verdicts.zones import Zone, answer_from


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    zone: Zone = {}
    for _ in answer_from(zone, monkeypatch):
        yield zone


def publish(zone: Zone, name: str, tags: str) -> None:
    zone[f"_dmarc.{name}"] = {"TXT": [f"v=DMARC1; {tags}"]}


def verdict(author: str, *, spf: str = "", dkim: str = "", result: str = "pass") -> DmarcVerdict:
    signatures = [DkimVerdict(result, dkim, "s")] if dkim else []
    path = SpfVerdict(result if spf else "none", spf)
    return judge_dmarc(author, path, signatures, Lookups(5))


def test_a_domain_without_a_record_has_no_policy(zone: Zone) -> None:
    assert verdict("a.test", dkim="a.test").result == "none"


@pytest.mark.parametrize(
    ("author", "other", "is_aligned"),
    [
        *(
            ("a.test", "a.test", True),
            ("a.test", "mail.a.test", True),
            ("x.a.test", "a.test", True),
        ),
        *(("x.a.test", "y.a.test", True), ("a.test", "b.test", False), ("a.test", "test", False)),
        *(("a.test", "xa.test", False), ("a.test", "own.a.test", False)),
    ],
)
def test_domains_of_one_organization_are_aligned(
    zone: Zone, author: str, other: str, is_aligned: bool
) -> None:
    publish(zone, "a.test", "p=reject")
    publish(zone, "own.a.test", "p=none; psd=n")
    expected = "pass" if is_aligned else "fail"
    assert verdict(author, dkim=other).result == expected
    assert verdict(author, spf=other).result == expected


def test_strict_alignment_wants_the_same_name(zone: Zone) -> None:
    publish(zone, "a.test", "p=reject; adkim=s; aspf=r")
    assert verdict("a.test", dkim="mail.a.test").result == "fail"
    assert verdict("a.test", spf="mail.a.test").result == "pass"
    assert verdict("a.test", dkim="a.test").result == "pass"


def test_only_what_passes_counts(zone: Zone) -> None:
    publish(zone, "a.test", "p=quarantine")
    assert verdict("a.test", dkim="a.test", result="fail").result == "fail"
    assert verdict("a.test", spf="a.test", result="softfail").disposition == "quarantine"
    assert verdict("a.test", spf="a.test", result="temperror").result == "temperror"
    assert verdict("a.test", spf="b.test", result="temperror").result == "fail"


@pytest.mark.parametrize(
    ("tags", "author", "policy", "disposition"),
    [
        ("p=reject", "a.test", "reject", "reject"),
        ("p=reject; pct=1", "a.test", "reject", "reject"),
        ("p=reject; t=y", "a.test", "reject", "quarantine"),
        ("p=quarantine; t=y", "a.test", "quarantine", "none"),
        ("p=reject; sp=none", "x.a.test", "none", "none"),
        ("p=none; np=reject", "x.a.test", "reject", "reject"),
        ("p=none; np=reject", "real.a.test", "none", "none"),
    ],
)
def test_the_owner_says_what_to_do(
    zone: Zone, tags: str, author: str, policy: str, disposition: str
) -> None:
    publish(zone, "a.test", tags)
    zone["real.a.test"] = {"AAAA": ["2001:db8::1"]}
    outcome = verdict(author)
    assert (outcome.result, outcome.policy, outcome.disposition) == ("fail", policy, disposition)
    passing = verdict(author, dkim=author)
    assert (passing.result, passing.disposition) == ("pass", "none")


def test_a_record_that_cannot_be_read_is_a_permanent_error(zone: Zone) -> None:
    publish(zone, "a.test", "p=reject; p=none")
    assert verdict("a.test", dkim="a.test").result == "permerror"


def test_a_dns_without_an_answer_is_a_temporary_error(zone: Zone) -> None:
    assert verdict("a.fails.test").result == "temperror"
