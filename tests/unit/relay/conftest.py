from __future__ import annotations

import asyncio
import contextlib
import gc
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from relay.config import RelayConfig
from relay.failed_logins import FailedLogins
from relay.server import RelayServer
from relay.services import Inbound, Service, Submission
from relay.tls import CertificateFiles, TlsContexts, self_signed
from tests.unit.relay.fakes import TIMEOUT, FakeInboundStore, FakeStore, Waits, Wire


class RunningRelay:
    """A relay in a thread of its own."""

    def __init__(
        self,
        config: RelayConfig,
        service: Service,
        tls: TlsContexts | None,
        failed_logins: FailedLogins,
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._faults: list[dict[str, Any]] = []
        self._loop.set_exception_handler(lambda _, fault: self._faults.append(fault))
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.server = RelayServer(config, service, tls, failed_logins)
        self._clients: list[Wire] = []
        self.call(self.server.start()).result(TIMEOUT)

    @property
    def port(self) -> int:
        return self.server.ports[0]

    def call(self, coroutine: Any) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def client(self, *, greet: bool = True) -> Wire:
        client = Wire(self.port, greet=greet)
        self._clients.append(client)
        return client

    def stop(self) -> None:
        for client in self._clients:
            client.close()
        self.call(self.server.drain()).result(TIMEOUT)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(TIMEOUT)
        self._loop.close()
        gc.collect()  # a future whose exception nobody retrieved tells so at its end
        assert not self._faults


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> CertificateFiles:
    return self_signed(tmp_path_factory.mktemp("relay") / "tls", "relay.test")


@pytest.fixture
def trust(certificate: CertificateFiles) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate.certificate))


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def inbound_store() -> FakeInboundStore:
    return FakeInboundStore()


@pytest.fixture
def waits() -> Waits:
    """Return the waits after failed logins, which end at once unless the test holds them."""
    return Waits()


@pytest.fixture
def start(waits: Waits) -> Iterator[Callable[..., RunningRelay]]:
    """Start a relay with any settings; every one is stopped after the test."""
    with contextlib.ExitStack() as running:

        def start_relay(service: Service, tls: TlsContexts | None = None, **settings: Any) -> Any:
            settings = {"ports": (0,), "hostname": "relay.test", "drain_seconds": 1.0, **settings}
            relay = RunningRelay(RelayConfig(**settings), service, tls, FailedLogins(waits.sleep))
            running.callback(relay.stop)
            return relay

        yield start_relay


@pytest.fixture
def start_submission(
    start: Callable[..., RunningRelay], store: FakeStore, certificate: CertificateFiles
) -> Callable[..., RunningRelay]:
    """Start a submission relay with TLS over `store`."""
    return lambda **settings: start(Submission(store, store), TlsContexts(certificate), **settings)


@pytest.fixture
def relay(start_submission: Callable[..., RunningRelay]) -> RunningRelay:
    """Start a submission relay as in production."""
    return start_submission()


@pytest.fixture
def clear_relay(start_submission: Callable[..., RunningRelay]) -> RunningRelay:
    """Start a submission relay that allows logins without TLS."""
    return start_submission(require_tls=False)


@pytest.fixture
def sender(clear_relay: RunningRelay) -> Wire:
    """Return a client that is logged in without TLS."""
    client = clear_relay.client()
    assert client.log_in().startswith("235 ")
    return client


@pytest.fixture
def inbound_relay(
    start: Callable[..., RunningRelay], inbound_store: FakeInboundStore
) -> RunningRelay:
    return start(Inbound(inbound_store))
