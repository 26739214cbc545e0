"""SPF is evaluated as RFC 7208 wants; its test suite and pyspf are the judges."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

import pytest
import spf as pyspf
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.core.dns import LookupFailed
from chalicelib.spf.evaluation import MOST_TERMS, Sender, SpfResult, check
from tests.unit.linear_time import assert_growth
from tests.unit.spf.suite import Case, ZoneLookups, cases

CASES = list(cases())

Zone = Mapping[str, list[dict[str, Any]]]


def result_for(zone: Zone, ip: str = "192.0.2.1", address: str = "user@a.test") -> SpfResult:
    return check(Sender(ip, "helo.test", address), ZoneLookups(zone))


def text(record: str) -> list[dict[str, Any]]:
    return [{"TXT": record}]


def test_the_suite_is_whole() -> None:
    assert len(CASES) == 203


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_suite_of_the_rfc_passes(case: Case) -> None:
    address = case.mail_from or f"postmaster@{case.helo}"
    outcome = check(Sender(case.ip, case.helo, address), ZoneLookups(case.zone))
    assert outcome.result in case.results, outcome.reason
    if case.explanation and case.explanation != "DEFAULT":
        assert outcome.explanation == case.explanation


def test_the_reason_names_the_term_that_matches() -> None:
    outcome = result_for({"a.test": text("v=spf1 ip4:192.0.2.0/24 -all")})
    assert outcome.reason == "ip4:192.0.2.0/24 of a.test matches 192.0.2.1"
    assert result_for({"a.test": text("v=spf1 ?all")}, "not an address").result == "none"


def test_a_mapped_address_is_one_of_version_4() -> None:
    zone = {"a.test": text("v=spf1 ip4:192.0.2.1 -all")}
    assert result_for(zone, "::ffff:192.0.2.1").result == "pass"


def test_a_dns_that_does_not_answer_is_a_temporary_error() -> None:
    assert result_for({}, address="a@error.test").result == "temperror"


def test_a_record_that_includes_itself_ends() -> None:
    outcome = result_for({"a.test": text("v=spf1 include:a.test -all")})
    assert (outcome.result, str(MOST_TERMS) in outcome.reason) == ("permerror", True)


def test_an_expansion_has_a_longest_text() -> None:
    zone = {"a.test": text("v=spf1 exists:" + "%{s}" * 3000 + ".test -all")}
    assert result_for(zone, address="x" * 300 + "@a.test").result == "permerror"
    zone = {"a.test": text("v=spf1 " + "a " * 9000)}
    assert result_for(zone).result == "permerror"


@pytest.mark.parametrize(
    "term",
    [
        *("exists:%{d", "exists:%{l1r+-=}.test", "exists:" + "%%" * 20, "ip4:1/", "x" * 30),
        *("exists:%{i" + "0" * 20 + "1}.test", "a:" + "a-" * 10, "a:" + "." * 20, "x=" + "%" * 20),
    ],
)
def test_reading_takes_time_in_proportion(term: str) -> None:
    def evaluate(factor: int) -> None:
        result_for({"a.test": text("v=spf1 " + term * factor)})

    assert_growth(evaluate, 16_000 // len(term) // 8, 16_000 // len(term))


# Terms of all kinds, a few of them wrong, over a zone in which most names lead somewhere
NAMES = ["a.test", "b.test", "c.test", "mx.test", "mail.b.test"]
DOMAINS = st.sampled_from(
    [*NAMES, *NAMES, *NAMES, "%{d}", "%{l}.test", "%{ir}.%{v}.b.test", "%{d2r}", "%{s1r-}", "x",
     "void.test", "error.test", "%{h}", "%{o}"]
)  # fmt: skip
CIDRS = st.sampled_from([*[""] * 8, "/24", "/32", "//64", "/0//0", "/33", "//129", "/"])
NETWORKS = ["192.0.2.0/24", "198.51.100.7", "203.0.113.9", "192.0.2.1/32", "0.0.0.0/0"]
QUALIFIERS = st.sampled_from(["", "", "-", "~", "?", "+"])
TERMS = st.one_of(
    st.builds("{}{}:{}{}".format, QUALIFIERS, st.sampled_from(["a", "mx"]), DOMAINS, CIDRS),
    st.builds("{}{}:{}".format, QUALIFIERS, st.sampled_from(["ptr", "exists"]), DOMAINS),
    st.builds("{}include:{}".format, QUALIFIERS, st.sampled_from([*NAMES, "void.test"])),
    st.builds("{}{}{}".format, QUALIFIERS, st.sampled_from(["a", "mx"]), CIDRS),
    st.builds("{}ip4:{}".format, QUALIFIERS, st.sampled_from(NETWORKS)),
    st.builds("{}={}".format, st.sampled_from(["redirect", "exp"]), DOMAINS),
    st.builds("x{}={}".format, st.integers(0, 10**9), DOMAINS),
    st.sampled_from(["ip6:2001:db8::/32", "-all", "~all", "?All", "ptr"]),
    st.sampled_from(["ip4:1.2.3", "ip6:192.0.2.1", "ip4:192.0.2.1/08", "ip6:2001:db8::1/129", "!a",
                     "all/8", "include", "moo", "a:"]),
)  # fmt: skip
# pyspf refuses any modifier that occurs twice, RFC 7208 6 only redirect and exp
RECORDS = st.lists(TERMS, max_size=5, unique_by=lambda term: term.partition("=")[0]).map(
    lambda terms: " ".join(["v=spf1", *terms])
)
# pyspf refuses a record that includes itself before it looks at the terms in front
ZONES = st.fixed_dictionaries(dict.fromkeys(["a.test", "b.test", "c.test"], RECORDS)).filter(
    lambda records: not any(f"include:{name}" in record for name, record in records.items())
)
ADDRESSES = st.sampled_from(["192.0.2.1", "198.51.100.7", "2001:db8::1", "203.0.113.9"])


def zone_of(records: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    zone: dict[str, list[dict[str, Any]]] = {name: text(record) for name, record in records.items()}
    zone["a.test"] += [{"A": "192.0.2.1"}, {"AAAA": "2001:db8::1"}, {"MX": [10, "mx.test"]}]
    zone["b.test"] += [{"MX": [10, "b.test"]}, {"A": "198.51.100.7"}]
    zone["mx.test"] = [{"A": "203.0.113.9"}]
    for name, host in (("192.0.2.1", "a.test"), ("198.51.100.7", "mail.b.test")):
        zone[ip_address(name).reverse_pointer] = [{"PTR": host}]
    zone["mail.b.test"] = [{"A": "198.51.100.7"}]
    return zone


def pyspf_result(monkeypatch: pytest.MonkeyPatch, zone: Zone, ip: str, address: str) -> str:
    lookups = ZoneLookups(zone)

    def look_up(name: str, kind: str, strict: bool = True, timeout: float = 0) -> list[Any]:
        try:
            values: Any = lookups.values(name, kind)
        except LookupFailed as error:
            raise pyspf.TempError(str(error)) from None
        if kind == "MX":
            values = [(10, value) for value in values]
        if kind == "TXT":
            values = [(value.encode(),) for value in values]
        if kind == "AAAA":
            values = [ip_address(value).packed for value in values]
        return [((name, kind), value) for value in values]

    monkeypatch.setattr(pyspf, "DNSLookup", look_up)
    return str(pyspf.query(i=ip, s=address, h="helo.test").check()[0])


@settings(max_examples=400, deadline=None)
@given(ZONES, ADDRESSES)
def test_pyspf_agrees(records: dict[str, str], ip: str) -> None:
    zone = zone_of(records)
    with pytest.MonkeyPatch.context() as monkeypatch:
        theirs = pyspf_result(monkeypatch, zone, ip, "user@a.test")
    outcome = result_for(zone, ip)
    assert outcome.result == theirs, outcome.reason


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.text(max_size=30), st.text(max_size=30))
def test_any_record_and_any_sender_have_a_result(record: str, address: str, ip: str) -> None:
    outcome = check(
        Sender(ip or "192.0.2.1", address, f"{address}@a.test"),
        ZoneLookups({"a.test": text(f"v=spf1 {record}")}),
    )
    assert outcome.result in {
        *("none", "neutral", "pass", "fail", "softfail", "temperror", "permerror")
    }
