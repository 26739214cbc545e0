"""All verdicts on a message are made together, and nothing that a stranger sends breaks them."""

from __future__ import annotations

import json
import mmap
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from typing import Any

import authres
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as settings_of_hypothesis
from hypothesis import strategies as st

from chalicelib.core.settings import settings
from chalicelib.dkim import arc
from chalicelib.dkim.signed_message import SignedMessage
from chalicelib.mail_verdicts import judge as judge_module
from chalicelib.mail_verdicts.judge import judge
from chalicelib.mail_verdicts.model import (
    ArcVerdict,
    DkimVerdict,
    DmarcVerdict,
    Origin,
    SpamRule,
    SpamVerdict,
    SpfVerdict,
    Verdicts,
    VirusVerdict,
)
from tests.unit.dkim.signed_mail import KEY_NAME, MESSAGE, RECORD, sign
from tests.unit.linear_time import assert_linear
from tests.unit.mail_verdicts.zones import Zone, answer_from

ORIGIN = Origin("192.0.2.1", "mail.sender.test", "bounce@sender.test")


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    zone: Zone = {
        "sender.test": {"TXT": ["v=spf1 ip4:192.0.2.1 -all"]},
        "mail.sender.test": {"TXT": ["v=spf1 a -all"], "A": ["192.0.2.1"]},
        KEY_NAME: {"TXT": [RECORD]},
        "_dmarc.sender.test": {"TXT": ["v=DMARC1; p=reject"]},
    }
    for _ in answer_from(zone, monkeypatch):
        yield zone


def test_mail_that_is_as_it_should_be_passes(zone: Zone) -> None:
    verdicts = judge(sign(), ORIGIN)
    assert verdicts == Verdicts(
        SpfVerdict("pass", "sender.test", "mfrom", verdicts.spf.reason),
        (DkimVerdict("pass", "sender.test", "s1"),),
        DmarcVerdict("pass", "sender.test", "reject", "none", "DKIM passes for sender.test"),
        ArcVerdict(),
    )


def test_the_null_path_is_judged_by_helo(zone: Zone) -> None:
    verdicts = judge(sign(), Origin("192.0.2.1", "mail.sender.test", ""))
    spf = verdicts.spf
    assert (spf.result, spf.domain, spf.scope) == ("pass", "mail.sender.test", "helo")
    assert judge(sign(), Origin("192.0.2.1", "[192.0.2.1]", "")).spf.result == "none"


def test_forged_mail_fails_and_the_owner_wants_it_rejected(zone: Zone) -> None:
    verdicts = judge(MESSAGE, Origin("198.51.100.9", "x.test", "bounce@other.test"))
    assert (verdicts.spf.result, verdicts.dkim) == ("none", ())
    dmarc = verdicts.dmarc
    assert (dmarc.result, dmarc.policy, dmarc.disposition) == ("fail", "reject", "reject")


def test_a_message_has_few_names_looked_up_at_once() -> None:
    fields = [
        b"%b: i=%d; a=rsa-sha256; s=%b%d; d=x.test\r\n" % (name, number, name[:4], number)
        for number in range(1, 51)
        for name in (b"ARC-Seal", b"ARC-Message-Signature", b"DKIM-Signature")
    ]
    message = SignedMessage(b"".join(fields) + MESSAGE)
    assert len(list(judge_module._questions(message, ORIGIN))) <= 25


def test_the_explanation_of_a_domain_is_in_the_reason(zone: Zone) -> None:
    zone["sender.test"] = {"TXT": ["v=spf1 -all exp=why.sender.test"]}
    zone["why.sender.test"] = {"TXT": ["%{i} is not ours"]}
    assert judge(MESSAGE, ORIGIN).spf.reason.endswith("192.0.2.1 is not ours")


def test_a_dns_without_answers_gives_temporary_errors(zone: Zone) -> None:
    message = sign().replace(b"sender.test", b"fails.test")
    verdicts = judge(message, Origin("192.0.2.1", "a", "a@fails.test"))
    results = verdicts.spf.result, verdicts.dkim[0].result, verdicts.dmarc.result
    assert results == ("temperror",) * 3


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (b"", "there is no From field"),
        (b"From: a@sender.test\r\nFrom: b@sender.test\r\n", "there are several From fields"),
        (b"From: a@sender.test, b@other.test\r\n", "the authors in From have several domains"),
        (b"From: \r\n", "From is empty"),
        (b"From: root\r\n", "an address in From has no domain name"),
        (b"From: " + b"a" * 9000 + b"@sender.test\r\n", "the From field is too long"),
        (b"From: a@sender.test\r\nX: " + b"x" * 300_000, "the header section is too large"),
    ],
)
def test_a_message_needs_one_author(zone: Zone, fields: bytes, reason: str) -> None:
    dmarc = judge(fields + b"To: b@in.test\r\n\r\nx\r\n", ORIGIN).dmarc
    assert (dmarc.result, dmarc.reason) == ("permerror", reason)


def test_several_authors_of_one_domain_are_one(zone: Zone) -> None:
    message = MESSAGE.replace(b"Ann <", b'"a@x.test" <a@SENDER.test>, Ann <')
    assert judge(message, ORIGIN).dmarc.result == "pass"


def test_a_header_section_that_is_too_large_is_not_verified(zone: Zone) -> None:
    verdicts = judge(b"X: " + b"x" * 300_000 + b"\r\n" + sign(), ORIGIN)
    assert verdicts.dkim[0].result == "neutral"
    assert (verdicts.arc.result, verdicts.arc.reason) == ("none", verdicts.dkim[0].reason)


def test_a_fault_of_a_check_spoils_no_other(zone: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(arc, "chain_of", fail)
    verdicts = judge(sign(), ORIGIN)
    assert (verdicts.arc.result, verdicts.dmarc.result) == ("temperror", "pass")


def test_all_look_ups_together_have_one_limit(zone: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(self: object, question: tuple[str, str]) -> tuple[str, ...]:
        time.sleep(0.2)
        return ()

    monkeypatch.setattr(judge_module.Lookups, "_ask", never)
    monkeypatch.setenv("VERDICT_TIMEOUT", "0.05")
    settings.cache_clear()
    verdicts = judge(sign(), ORIGIN)
    assert {verdicts.spf.result, verdicts.dkim[0].result, verdicts.dmarc.result} == {"temperror"}


ALL = Verdicts(
    SpfVerdict("fail", "a.test", "helo", 'a "reason" \\ of\r\nües'),
    (DkimVerdict("pass", "a.test", "s1"), DkimVerdict("neutral", "", "", "v= is missing")),
    DmarcVerdict("fail", "b.test", "reject", "quarantine", "neither"),
    ArcVerdict("pass", 2, "c.test", 0),
    SpamVerdict(True, 7.5, 5.0, (SpamRule("RULE", 7.5),)),
    VirusVerdict(True, "Eicar"),
)


def test_verdicts_are_kept_as_json() -> None:
    for verdicts in (ALL, Verdicts()):
        assert Verdicts.from_json(json.loads(json.dumps(verdicts.as_json()))) == verdicts
    assert list(ALL.as_json()) == ["spf", "dkim", "dmarc", "arc", "spam", "virus"]
    assert ALL.as_json()["spam"]["rules"] == [{"name": "RULE", "score": 7.5}]


def properties(result: Any) -> dict[str, str]:
    return {f"{each.type}.{each.name}": each.value for each in result.properties}


def test_a_field_with_the_results_is_read_by_others() -> None:
    value = ALL.authentication_results("mx.in.test")
    header = authres.AuthenticationResultsHeader.parse(f"Authentication-Results: {value}")
    assert header.authserv_id == "mx.in.test"
    results = [(result.method, result.result) for result in header.results]
    assert results == [
        *(("spf", "fail"), ("dkim", "pass"), ("dkim", "neutral"), ("dmarc", "fail")),
        ("arc", "pass"),
    ]
    spf, dkim, _, dmarc, chain = header.results
    assert properties(spf) == {"smtp.helo": "a.test"}
    assert properties(dkim) == {"header.d": "a.test", "header.s": "s1"}
    assert properties(dmarc) == {"header.from": "b.test"}
    assert properties(chain) == {"header.oldest-pass": "0"}
    assert spf.reason == r"a \"reason\" \\ of???es"
    none = Verdicts().authentication_results("mx.in.test")
    assert none == "mx.in.test; spf=none; dkim=none; dmarc=none; arc=none"


@settings_of_hypothesis(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.binary(max_size=200), st.text(max_size=30), st.text(max_size=30), st.text(max_size=20))
def test_any_message_of_anybody_has_verdicts(
    zone: Zone, octets: bytes, mail_from: str, helo: str, ip: str
) -> None:
    names = (b"DKIM-Signature", b"ARC-Seal", b"ARC-Message-Signature", b"From")
    for message in (octets, *(name + b":" + octets + b"\r\n" + sign() for name in names)):
        verdicts = judge(message, Origin(ip, helo, mail_from))
        assert "failed" not in json.dumps(verdicts.as_json())
        value = verdicts.authentication_results("mx.in.test")
        assert value.isascii()
        assert value.isprintable()


@pytest.mark.parametrize(
    "unit",
    [
        *(b"DKIM-Signature: v=1; a=rsa-sha256; d=a.test; s=s; h=from; bh=AAAA; b=AAAA\r\n",),
        *(
            b"ARC-Seal: i=1; cv=none; a=rsa-sha256; d=a.test; s=s; b=AAAA\r\n",
            b"From: a@b.test\r\n",
        ),
        *(b"a", b"X:\r\n ", b" ", b"\r\n", b"<", b"(", b'"'),
    ],
)
def test_time_is_in_proportion_to_the_size(zone: Zone, unit: bytes) -> None:
    def read(octets: bytes) -> None:
        judge(b"From: " + octets + b"\r\n\r\n" + octets, ORIGIN)

    assert_linear(read, unit * (240_000 // len(unit)))


def test_a_message_of_20_megabytes_takes_little_memory(zone: Zone) -> None:
    message = sign(MESSAGE + b"0123456789abcdef" * 4 * 300_000 + b"\r\n")
    with tempfile.TemporaryFile() as file:
        file.write(message)
        file.flush()
        octets = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    del message
    tracemalloc.start()
    verdicts = judge(octets, ORIGIN)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    octets.close()
    assert verdicts.dmarc.result == "pass"
    assert peak < 5_000_000
