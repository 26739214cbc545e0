"""Provide a provider, in place of the network, and the service's settings for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chalicelib.core import web_fetch
from chalicelib.core.settings import settings
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import make_account
from tests.unit.single_sign_on.provider import SETTING, Provider

Configure = Callable[..., None]


@pytest.fixture
def configure(cloud: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Configure]:
    """Set the provider with further fields."""

    def configure(**fields: Any) -> None:
        monkeypatch.setenv("OIDC_PROVIDERS", json.dumps([SETTING | fields]))
        settings.cache_clear()

    configure()
    yield configure
    monkeypatch.delenv("OIDC_PROVIDERS")
    settings.cache_clear()


@pytest.fixture
def provider(configure: Configure, monkeypatch: pytest.MonkeyPatch) -> Provider:
    """A provider that answers what the service fetches."""
    make_account()
    provider = Provider()
    monkeypatch.setattr(web_fetch, "get", provider.get)
    monkeypatch.setattr(web_fetch, "post", provider.post)
    return provider


@pytest.fixture
def clock() -> Iterator[Clock]:
    """A clock that the test moves."""
    with moving_clock(1_700_000_010.0) as moving:
        yield moving
