"""Run the relay: ``python -m relay`` serves until SIGTERM, then drains."""

from __future__ import annotations

import gc
import logging
import resource
import sys
from dataclasses import replace
from pathlib import Path

from chalicelib.core import aws, logs
from chalicelib.core.process_group import usable_cores
from chalicelib.core.settings import MIB, Settings, settings_at_start
from chalicelib.received_mail import inbound_queue
from relay import processes
from relay.config import RelayConfig
from relay.inbound import MailAcceptor
from relay.processes import Listener, MetricsPort
from relay.services import Inbound, Submission
from relay.submission import ApiKeyAuthenticator, TransmissionAcceptor
from relay.tls import CertificateFiles, TlsContexts, self_signed

_MOST_LISTENERS = 3
# Files for one client of each listener; the message of one from elsewhere may be a file as well.
_FILES_OF_CLIENTS = _MOST_LISTENERS + 1
# Files that a process has open besides its clients' connections.
_OTHER_FILES = 100
# Recipients of a message from elsewhere: the smallest limit that RFC 5321 4.5.3.1.8 allows.
_MOST_RECIPIENTS = 100
# Octets of mail from elsewhere that a process has on disk before it is stored.
_MOST_ARRIVING = 2048 * MIB
# RFC 3461 4.1, 4.2 and 4.4 lengthen the 512 octets of RFC 5321 for their parameters.
_MOST_COMMAND_LINE = 1_100


def main() -> None:
    """Read the settings and serve."""
    current = settings_at_start("relay_certificate", "relay_key")
    _log_json_lines(current.log_level)
    _allow_many_files()
    _find_garbage_early()
    # Before processes are forked, which then share the clients' models
    aws.make_clients()
    port = current.relay_metrics_port
    processes.run(
        listeners(current),
        current.relay_processes or usable_cores(),
        MetricsPort(current.relay_metrics_host or current.relay_host, port) if port else None,
    )


def _log_json_lines(level: str) -> None:
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logs.JsonLines())
    logging.basicConfig(level=level, handlers=[handler])
    for noisy in ("botocore", "mail.log"):  # aiosmtpd writes several lines for each connection
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _find_garbage_early() -> None:
    """Set how often Python looks for objects that refer to each other in circles.

    The limit of ``chalicelib`` suits a short call. A server makes such objects for each connection
    (``asyncio``'s transports), and lives for months.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


def listeners(current: Settings) -> list[Listener]:
    """Return the services of a relay process and where each listens."""
    config = RelayConfig(
        hostname=current.mail_hostname,
        host=current.relay_host,
        ports=_ports(current.relay_ports),
        max_message=current.max_message_bytes,
        max_connections=_most_connections(),
        drain_seconds=current.relay_drain,
    )
    tls = TlsContexts(_certificate(current))
    submission = Listener(config, Submission(ApiKeyAuthenticator(), TransmissionAcceptor()), tls)
    of_senders = [submission] if current.relay_ports else []
    if current.relay_tls_ports:
        ports = _ports(current.relay_tls_ports)
        of_senders.append(
            replace(submission, config=replace(config, ports=ports, implicit_tls=True))
        )
    if not current.relay_inbound_ports:
        return of_senders
    return [Listener(_inbound(config, current), Inbound(MailAcceptor()), tls), *of_senders]


def _inbound(config: RelayConfig, current: Settings) -> RelayConfig:
    return replace(
        config,
        ports=_ports(current.relay_inbound_ports),
        # A report may return the largest message that was sent, and has a text of its own
        max_message=max(current.max_message_bytes + MIB, current.relay_inbound_bytes),
        max_inbound_message=current.relay_inbound_bytes,
        max_in_memory=inbound_queue.MOST_IN_QUEUE,
        max_arriving=_MOST_ARRIVING,
        max_network_arriving=_MOST_ARRIVING // 4,
        max_command_line=_MOST_COMMAND_LINE,
        max_recipients=_MOST_RECIPIENTS,
        max_network_messages=current.relay_inbound_messages,
        max_network_recipients=current.relay_inbound_recipients,
        max_domain_recipients=current.relay_inbound_domain_recipients,
    )


def _ports(numbers: str) -> tuple[int, ...]:
    return tuple(int(port) for port in numbers.split(",") if port.strip())


def _certificate(current: Settings) -> CertificateFiles:
    """Return the operator's certificate, or a self-signed one made at the first start."""
    if current.relay_certificate:
        return CertificateFiles(Path(current.relay_certificate), Path(current.relay_key))
    return self_signed(Path(current.relay_tls_directory), current.mail_hostname)


def _allow_many_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = RelayConfig().max_connections * _FILES_OF_CLIENTS + _OTHER_FILES
    limit = files if hard == resource.RLIM_INFINITY else min(files, hard)
    if limit > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def _most_connections() -> int:
    """Return how many clients one listener can have without running out of files."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return min(RelayConfig().max_connections, (files - _OTHER_FILES) // _FILES_OF_CLIENTS)


if __name__ == "__main__":
    main()
