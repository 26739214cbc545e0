"""Fixtures of reports: the DNS with the reporter's key, the time, and an account with a domain."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.dkim.dns_record import txt_record
from chalicelib.sending_domains import store as domains
from tests.unit.calling import Client
from tests.unit.domain_reports.samples import END, KEY_RECORD
from tests.unit.key_pairs import PAIR
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import make_account, make_key
from tests.unit.sending_domains.examples import domain
from tests.unit.zones import Zone, served_zone


@pytest.fixture
def time() -> Iterator[Clock]:
    """Set the clock to an hour after the end of the reports."""
    with moving_clock(END + 3600) as moving:
        yield moving


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    """A DNS server that has the reporter's key."""
    monkeypatch.setenv("SYSTEM_DOMAIN", "system.test")
    for zone in served_zone(monkeypatch):
        zone.set(KEY_RECORD, ("TXT", txt_record(PAIR.public_b64)))
        yield zone


@pytest.fixture
def client(cloud: None, zone: Zone, time: Clock) -> Client:
    """A caller whose account has the domain example.test."""
    make_account(1)
    domains.create(domain("example.test"))
    return make_key(1)
