"""Provide the tests of commands with the API of an account."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chalicelib.core.settings import settings
from tests.unit.calling import Client
from tests.unit.people import make_account, make_key
from tests.unit.postfinch.api_server import api_server


@pytest.fixture
def account(cloud: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """The account that commands use, and an empty folder in which they run."""
    for name in ("ALLOW_PRIVATE_ADDRESSES", "WEBHOOK_ANY_PORT"):
        monkeypatch.setenv(name, "true")
    settings.cache_clear()
    make_account(1)
    client = make_key(1)
    monkeypatch.chdir(tmp_path)
    with api_server() as url:
        monkeypatch.setenv("POSTFINCH_URL", url)
        monkeypatch.setenv("POSTFINCH_API_KEY", client.key)
        yield client
