"""Fixtures for relay webhooks: an account's key, and a target on this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chalicelib.core.settings import settings
from tests.http_target import Target, serving
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key


@pytest.fixture
def client(cloud: None, monkeypatch: pytest.MonkeyPatch) -> Client:
    """The primary account's key, where targets on this machine are allowed."""
    for name in ("ALLOW_PRIVATE_ADDRESSES", "WEBHOOK_ANY_PORT"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("WEBHOOK_TIMEOUT", "5")
    settings.cache_clear()
    make_account(1)
    return make_key(1)


@pytest.fixture
def target() -> Iterator[Target]:
    """A target that answers every post with 200 unless the test changes that."""
    with serving() as running:
        yield running
