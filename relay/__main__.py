"""The relay as a process: ``python -m relay`` serves until SIGTERM, then drains."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from chalicelib.core.settings import Settings, settings
from relay.behind import ApiKeyAuthenticator, TransmissionAcceptor
from relay.config import RelayConfig
from relay.server import RelayServer, serve
from relay.services import Submission
from relay.tls import CertificateFiles, TlsContexts, self_signed


def main() -> None:
    """Read the settings and serve."""
    given = settings()
    logging.basicConfig(level=given.log_level, format="%(asctime)s %(name)s %(message)s")
    # aiosmtpd writes several lines for each connection
    logging.getLogger("mail.log").setLevel(logging.WARNING)
    config = RelayConfig(
        hostname=given.mail_hostname,
        host=given.relay_host,
        ports=tuple(int(port) for port in given.relay_ports.split(",")),
        max_message=given.max_message_bytes,
        drain_seconds=given.relay_drain,
    )
    submission = Submission(ApiKeyAuthenticator(), TransmissionAcceptor())
    asyncio.run(_run(config, submission, TlsContexts(_certificate(given))))


async def _run(config: RelayConfig, submission: Submission, tls: TlsContexts) -> None:
    await serve(RelayServer(config, submission, tls))


def _certificate(given: Settings) -> CertificateFiles:
    """Return the certificate given, or one made at first start and kept."""
    if given.relay_certificate:
        return CertificateFiles(Path(given.relay_certificate), Path(given.relay_key))
    return self_signed(Path(given.relay_tls_directory), given.mail_hostname)


if __name__ == "__main__":
    main()
