"""The relay as a program: ``python -m relay`` serves until SIGTERM, then drains."""

from __future__ import annotations

import logging
import resource
import sys
from dataclasses import replace
from pathlib import Path

from chalicelib.core import logs
from chalicelib.core.settings import MIB, Settings, settings
from relay import processes
from relay.config import RelayConfig
from relay.inbound import ReportAcceptor
from relay.processes import Listener
from relay.services import Inbound, Submission
from relay.submission import ApiKeyAuthenticator, TransmissionAcceptor
from relay.tls import CertificateFiles, TlsContexts, self_signed

_MOST_LISTENERS = 2
# Files that a process has open besides its clients' connections.
_OTHER_FILES = 100
# Recipients of one report: the least that RFC 5321 4.5.3.1.8 allows.
_MOST_REPORTED = 100


def main() -> None:
    """Read the settings and serve."""
    given = settings()
    _log_json_lines(given.log_level)
    _allow_many_files()
    processes.run(listeners(given), given.relay_processes or processes.usable_cores())


def _log_json_lines(level: str) -> None:
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logs.JsonLines())
    logging.basicConfig(level=level, handlers=[handler])
    for noisy in ("botocore", "mail.log"):  # aiosmtpd writes several lines for each connection
        logging.getLogger(noisy).setLevel(logging.WARNING)


def listeners(given: Settings) -> list[Listener]:
    """Everything that a relay process listens for."""
    config = RelayConfig(
        hostname=given.mail_hostname,
        host=given.relay_host,
        ports=_ports(given.relay_ports),
        max_message=given.max_message_bytes,
        max_connections=_most_connections(),
        drain_seconds=given.relay_drain,
    )
    tls = TlsContexts(_certificate(given))
    submission = Listener(config, Submission(ApiKeyAuthenticator(), TransmissionAcceptor()), tls)
    if not given.relay_inbound_ports:
        return [submission]
    reports = ReportAcceptor()
    inbound = replace(
        config,
        ports=_ports(given.relay_inbound_ports),
        # A report may return the largest message that was sent, and says something besides
        max_message=given.max_message_bytes + MIB,
        max_recipients=_MOST_REPORTED,
    )
    return [Listener(inbound, Inbound(reports.wanted, reports), tls), submission]


def _ports(listed: str) -> tuple[int, ...]:
    return tuple(int(port) for port in listed.split(","))


def _certificate(given: Settings) -> CertificateFiles:
    """Return the certificate given, or one made at first start and kept."""
    if given.relay_certificate:
        return CertificateFiles(Path(given.relay_certificate), Path(given.relay_key))
    return self_signed(Path(given.relay_tls_directory), given.mail_hostname)


def _allow_many_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = RelayConfig().max_connections * _MOST_LISTENERS + _OTHER_FILES
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if allowed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def _most_connections() -> int:
    """Return how many clients one listener can have without running out of files."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return min(RelayConfig().max_connections, (files - _OTHER_FILES) // _MOST_LISTENERS)


if __name__ == "__main__":
    main()
