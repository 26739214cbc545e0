"""Serve the API and the console of production on one machine.

``python -m infrastructure.machine.edge`` binds ``HTTP_PORT`` and, unless ``TLS=off``,
``HTTPS_PORT``.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from app import app
from chalicelib.core import aws
from chalicelib.core.settings import settings
from infrastructure.local.figures import RequestCounts
from infrastructure.local.gateway.application import FurtherPort, Gateway, server
from infrastructure.machine import settings as machine_settings
from infrastructure.machine.certificates.server_certificates import ServerCertificates
from infrastructure.machine.configuration import own_files
from infrastructure.machine.edge.application import Edge
from infrastructure.machine.edge.connection import OpenConnections, PublicProtocol
from infrastructure.machine.edge.figures import MachineFigures
from infrastructure.machine.edge.health import Health, accepting, working
from infrastructure.machine.edge.proxies import TrustedProxies
from infrastructure.machine.settings import OFF


def main() -> None:
    """Serve until SIGTERM."""
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    aws.make_clients()
    machine = machine_settings.load(os.environ)
    data_dir = Path(machine.data_dir)
    certificates = ServerCertificates(data_dir, own_files(machine))
    counts = RequestCounts()
    figures = MachineFigures(machine.metrics_token, data_dir, counts, settings().relay_metrics_port)
    proxies = TrustedProxies.read(machine.trusted_proxies)
    PublicProtocol.open_connections = OpenConnections(proxies.include)
    edge = Edge(
        Gateway(
            app,
            max_body_bytes=settings().max_body_bytes,
            home="console/" if settings().console else "",
            count=counts.add,
        ),
        watching={
            "/health": Health(accepting()).answer,
            "/ready": Health(accepting() | working()).answer,
            "/metrics": figures.answer,
        },
        challenge=certificates.challenge,
        proxies=proxies,
        secure_url="" if machine.tls == OFF else settings().public_url,
    )
    further = []
    if machine.tls != OFF:
        context = certificates.context()
        further.append(FurtherPort(machine.listen_address, machine.https_port, context))
    server(
        edge,
        host=machine.listen_address,
        port=machine.http_port,
        further=further,
        protocol=PublicProtocol,
    ).run()


if __name__ == "__main__":
    main()
