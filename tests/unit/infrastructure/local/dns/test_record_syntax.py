"""Check the DNS records that a user writes."""

from __future__ import annotations

from typing import Any

import pytest

from infrastructure.local.dns.record_syntax import BadRecord, read_name, read_records


def records(*pairs: tuple[Any, Any]) -> Any:
    return {"records": [{"type": rtype, "value": value} for rtype, value in pairs]}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("MyCompany.com", "mycompany.com"),
        ("mycompany.com.", "mycompany.com"),
        ("s1._domainkey.mycompany.com", "s1._domainkey.mycompany.com"),
        ("Bücher.example", "xn--bcher-kva.example"),
        ("localhost", "localhost"),
    ],
)
def test_a_name_has_one_spelling(text: str, name: str) -> None:
    assert read_name(text) == name


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "a..com", ".a.com", "a/b", "a b.com", "-a.com", "a-.com", "*.a.com"),
        *("127.0.0.1", "a" * 64 + ".com", "a." * 126 + "com", "\ud800.com", "a\0b", "\u200d"),
    ],
)
def test_what_cannot_be_in_the_dns_is_no_name(text: str) -> None:
    with pytest.raises(BadRecord, match="not a name"):
        read_name(text)


def test_values_have_one_spelling() -> None:
    body = records(
        ("a", "192.0.2.1"),
        ("AAAA", "2001:DB8:0::1"),
        ("MX", "010  Mail.a.com."),
        ("MX", "0 ."),
        ("ns", "NS1.a.com."),
        ("TXT", ' v=spf1 "é" '),
        ("TXT", ""),
    )
    assert read_records(body) == [
        ("A", "192.0.2.1"),
        ("AAAA", "2001:db8::1"),
        ("MX", "10 mail.a.com"),
        ("MX", "0 ."),
        ("NS", "ns1.a.com"),
        ("TXT", ' v=spf1 "é" '),
        ("TXT", ""),
    ]
    assert read_records(records(("CNAME", "B.com"))) == [("CNAME", "b.com")]


def test_equal_records_are_one() -> None:
    assert read_records(records(("MX", "10 a.com"), ("mx", "10 A.com."))) == [("MX", "10 a.com")]


@pytest.mark.parametrize("body", [None, [], {}, "x", {"records": []}, {"records": {}}])
def test_without_a_list_of_records_nothing_is_read(body: Any) -> None:
    with pytest.raises(BadRecord, match="records must be a list"):
        read_records(body)


@pytest.mark.parametrize("record", [None, "A", {}, {"type": "A"}, {"type": 1, "value": "x"}])
def test_a_record_needs_a_type_and_a_value(record: Any) -> None:
    body = {"records": [{"type": "A", "value": "192.0.2.1"}, record]}
    with pytest.raises(BadRecord, match=r"records\[1\] must have a type and a value"):
        read_records(body)


@pytest.mark.parametrize(
    ("rtype", "value", "reason"),
    [
        ("SRV", "x", "one of A, AAAA, CNAME, MX, NS, PTR, TXT"),
        ("A", "2001:db8::1", "2001:db8::1"),
        ("A", "localhost", "localhost"),
        ("AAAA", "192.0.2.1", "192.0.2.1"),
        ("CNAME", "192.0.2.1", "not a name"),
        ("CNAME", "", "not a name"),
        ("MX", "mail.a.com", "a preference and a host"),
        ("MX", "10", "a preference and a host"),
        ("MX", "-1 mail.a.com", "a preference and a host"),
        ("MX", "65536 mail.a.com", "at most 65535"),
        ("MX", "9" * 5000 + " mail.a.com", "at most 65535"),
        ("MX", "10 192.0.2.1", "not a name"),
        ("MX", "10 a.com b.com", "not a name"),
    ],
)
def test_a_value_that_its_type_cannot_have_is_refused(rtype: str, value: str, reason: str) -> None:
    with pytest.raises(BadRecord, match=r"records\[0\]") as excinfo:
        read_records(records((rtype, value)))
    assert reason in str(excinfo.value)


def test_an_alias_has_no_other_record() -> None:
    with pytest.raises(BadRecord, match="no other record"):
        read_records(records(("CNAME", "b.com"), ("MX", "10 b.com")))
