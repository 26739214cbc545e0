from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.recipient_validation import mail_routes
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key
from tests.unit.zones import Zone, served_zone


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    """A DNS server in which ``inbox.test`` has a mail host, and some domains are special."""
    for zone in served_zone(monkeypatch):
        for name in ("inbox.test", "gmail.com", "mail.com", "gmial.com", "mailinator.com"):
            zone.set(name, ("MX", "10 mx.inbox.test"))
        zone.set("xn--bcher-kva.test", ("MX", "10 mx.inbox.test"))
        zone.set("plain.test", ("A", "192.0.2.7"))
        zone.set("plain6.test", ("AAAA", "2001:db8::7"))
        zone.set("null.test", ("MX", "0 ."))
        zone.failing.add("broken.test")
        mail_routes.clear_cache()
        yield zone


@pytest.fixture
def client(cloud: None, zone: Zone) -> Client:
    make_account(1)
    return make_key(1)
