"""Hold what all sessions of one server share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from relay.arriving import ArrivingOctets
from relay.config import RelayConfig
from relay.counters import Counters
from relay.failed_logins import FailedLogins
from relay.open_connections import OpenConnections
from relay.services import Service
from relay.tls import TlsContexts
from relay.traffic import Traffic


@dataclass(frozen=True, slots=True)
class ServerContext:
    """Without `tls`, STARTTLS is not offered. `workers` run every blocking call."""

    config: RelayConfig
    service: Service
    tls: TlsContexts | None
    connections: OpenConnections
    counters: Counters
    failed_logins: FailedLogins
    traffic: Traffic
    arriving: ArrivingOctets
    workers: ThreadPoolExecutor
