"""Domains whose mail ends at one provider are one group."""

from __future__ import annotations

import pytest

from chalicelib.core import clock
from chalicelib.delivery.shaping import groups
from chalicelib.delivery.shaping.groups import Group, group_of_hosts, groups_of
from tests.unit.moving_clock import moving_clock
from tests.unit.zones import Zone


@pytest.mark.parametrize(
    ("hosts", "group"),
    [
        (["gmail-smtp-in.l.google.com", "alt1.gmail-smtp-in.l.google.com"], "google.com"),
        (["aspmx.l.google.com"], "google.com"),
        (["hotmail-com.olc.protection.outlook.com"], "outlook.com"),
        (["example-com.mail.protection.outlook.com"], "office365"),
        (["mta5.am0.yahoodns.net"], "yahoodns.net"),
        (["mx1.mail.example.co.uk", "mx2.example.co.uk"], "example.co.uk"),
        (["aspmx.l.google.com", "alt1.aspmx.l.google.com", "aspmx2.googlemail.com"], "google.com"),
        (["aspmx.l.google.com", "mx.evil.test"], None),
        (["mx.evil.test", "aspmx.l.google.com"], None),
        (["mx1.example.net", "mx.evil.test"], None),
        (["example.net"], "example.net"),
        (["notgoogle.com"], "notgoogle.com"),
        ([], None),
        ([""], None),
    ],
)
def test_the_group_is_that_of_the_mail_hosts(hosts: list[str], group: str | None) -> None:
    assert group_of_hosts(hosts) == group


def test_domains_with_the_same_hosts_are_one_group(zone: Zone) -> None:
    for domain in ("one.test", "two.test"):
        zone.set(domain, ("MX", "10 aspmx.l.google.com"))
    zone.set("three.test", ("A", "192.0.2.1"))
    shared = Group("google.com", "aspmx.l.google.com")
    assert groups_of(["one.test", "two.test", "three.test"]) == {
        "one.test": shared,
        "two.test": shared,
        "three.test": Group("three.test", "three.test"),
    }


def test_a_domain_is_looked_up_once_an_hour(zone: Zone) -> None:
    zone.set("one.test", ("MX", "10 mx.host.test"))
    with moving_clock(clock.now()) as time:
        groups_of(["one.test"])
        groups_of(["one.test"])
        assert zone.queries == ["one.test"]
        time.passes(3_601)
        groups_of(["one.test"])
    assert zone.queries == ["one.test", "one.test"]


def test_a_domain_that_cannot_be_looked_up_is_a_group_of_its_own(zone: Zone) -> None:
    zone.failing.add("broken.test")
    assert groups_of(["broken.test"]) == {"broken.test": Group("broken.test", "")}
    assert groups._cache["broken.test"][0] < clock.now() + 301
