"""MTA-STS records and policies are read as RFC 8461 describes them."""

from __future__ import annotations

import pytest

from chalicelib.delivery.mta_sts.policy import (
    LONGEST_AGE,
    InvalidPolicy,
    Mode,
    Policy,
    announced_id,
    parse,
)

EXAMPLE = (
    "version: STSv1\r\nmode: enforce\r\nmx: mail.example.com\r\nmx: *.example.net\r\n"
    "mx: backupmx.example.com\r\nmax_age: 604800\r\n"
)


def test_a_policy_is_read() -> None:
    hosts = ("mail.example.com", "*.example.net", "backupmx.example.com")
    assert parse(EXAMPLE) == Policy(Mode.ENFORCE, hosts, 604_800)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("version:STSv1\nmode:testing\nmx:a.test\nmax_age:60", Mode.TESTING),
        ("version: STSv1\nmode: none\nmax_age: 60\n", Mode.NONE),
        (
            "version: STSv1\nmode: enforce\nmode: none\nmx: A.TEST.\nmax_age: 60\nfuture: 1",
            "enforce",
        ),
    ],
)
def test_what_a_policy_may_be_written_like(text: str, mode: str) -> None:
    assert parse(text).mode == mode


def test_the_age_of_a_policy_is_at_most_a_year() -> None:
    assert parse(EXAMPLE.replace("604800", "9999999999")).max_age == LONGEST_AGE


def test_a_policy_may_name_any_number_of_hosts() -> None:
    assert parse(EXAMPLE + "".join(f"mx: a{n}.test\n" for n in range(999))).allows("a998.test")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>",
        EXAMPLE.replace("STSv1", "STSv2"),
        EXAMPLE.replace("enforce", "Enforce"),
        EXAMPLE.replace("604800", "week"),
        EXAMPLE.replace("604800", "\u0661"),
        EXAMPLE.replace("604800", "-1"),
        EXAMPLE.replace("mail.example.com", "mail.*.com"),
        EXAMPLE.replace("mail.example.com", ""),
        "version: STSv1\nmode: enforce\nmax_age: 60\n",
    ],
)
def test_what_is_no_policy(text: str) -> None:
    with pytest.raises(InvalidPolicy):
        parse(text)


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("mail.example.com", True),
        ("MAIL.example.com.", True),
        ("mx1.example.net", True),
        ("example.net", False),
        ("a.mx1.example.net", False),
        ("mail.example.com.evil.test", False),
        ("net", False),
    ],
)
def test_a_wildcard_stands_for_one_label(host: str, *, allowed: bool) -> None:
    assert parse(EXAMPLE).allows(host) is allowed


@pytest.mark.parametrize(
    ("records", "policy_id"),
    [
        (["v=STSv1; id=20160831085700Z;"], "20160831085700Z"),
        (["v=STSv1;id=1"], "1"),
        (["v=spf1 -all", "v=STSv1; future=x; id=2;"], "2"),
        (["v=STSv1; id=1;", "v=STSv1; id=2;"], None),
        (["v=STSv1; id=no-dashes;"], None),
        (["v=STSv1; id=" + "1" * 33], None),
        (["v=STSv1"], None),
        (["v=STSv10; id=1"], None),
        ([], None),
    ],
)
def test_a_record_announces_a_policy(records: list[str], policy_id: str | None) -> None:
    assert announced_id(records) == policy_id
