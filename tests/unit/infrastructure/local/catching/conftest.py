from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infrastructure.local.catching.limits import catching_config
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.this_machine import NOBODY_ELSE, LocalAccess
from relay.failed_logins import FailedLogins
from relay.services import Service
from relay.tls import CertificateFiles, TlsContexts, self_signed
from tests.unit.relay.conftest import RunningRelay

StartCatching = Callable[..., RunningRelay]


async def no_wait(seconds: float) -> None:
    """Let a client with a wrong login try again at once."""


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> CertificateFiles:
    return self_signed(tmp_path_factory.mktemp("catching") / "tls", "localhost")


@pytest.fixture
def trust(certificate: CertificateFiles) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate.certificate))


@pytest.fixture
def mailbox(tmp_path: Path) -> Iterator[SinkMailbox]:
    mailbox = SinkMailbox(tmp_path / "mail")
    yield mailbox
    mailbox.close()


@pytest.fixture
def start(certificate: CertificateFiles) -> Iterator[StartCatching]:
    """Start the catching port over any service; every one is stopped after the test."""
    with contextlib.ExitStack() as running:

        def start_catching(
            service: Service, access: LocalAccess = NOBODY_ELSE, **settings: Any
        ) -> Any:
            config = replace(catching_config("127.0.0.1", 0, access), **settings)
            tls = TlsContexts(certificate)
            relay = RunningRelay(config, service, tls, FailedLogins(no_wait))
            running.callback(relay.stop)
            return relay

        yield start_catching
