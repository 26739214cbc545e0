from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.core.settings import settings
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key
from tests.unit.zones import Zone, served_zone


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    """A DNS server whose records the test sets; mail goes straight to mail hosts."""
    monkeypatch.setenv("TRANSPORT", "mx")
    monkeypatch.setenv("PUBLIC_URL", "https://api.system.test")
    monkeypatch.setenv("SYSTEM_DOMAIN", "system.test")
    monkeypatch.setenv("MAIL_HOSTNAME", "mail.system.test")
    yield from served_zone(monkeypatch)


@pytest.fixture
def client(cloud: None, zone: Zone) -> Client:
    assert settings().transport == "mx"
    make_account(1)
    return make_key(1)
