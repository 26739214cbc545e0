"""Run the HTTP server of the local runtime: ``python -m infrastructure.local.gateway``.

It serves on ``API_PORT`` of ``API_HOST`` (loopback by default):

- the whole application, through the same gateway events as on AWS
- ``GET /local/mailbox``, ``GET /local/mailbox/{id}`` and ``DELETE /local/mailbox``: the mail that
  left through the bundled sink
- ``GET /local/dns``, and ``GET``, ``PUT`` and ``DELETE /local/dns/{name}``: the records of the
  local DNS

The paths under ``/local`` need no key.
"""

from __future__ import annotations

import os
from pathlib import Path

from app import app
from chalicelib.core import aws
from chalicelib.core.settings import settings
from infrastructure.local.dns.records import ServiceRecords
from infrastructure.local.dns.zone import LocalZone
from infrastructure.local.gateway import dns_endpoint, mailbox_endpoint
from infrastructure.local.gateway.application import Gateway, server
from infrastructure.local.gateway.dns_endpoint import DnsEndpoint
from infrastructure.local.gateway.mailbox_endpoint import MailboxEndpoint
from infrastructure.local.sink.mailbox import Mailbox


def main() -> None:
    """Serve until SIGTERM."""
    aws.make_clients()
    data_dir = Path(os.environ["DATA_DIR"])
    gateway = Gateway(
        app,
        max_body_bytes=settings().max_body_bytes,
        extra={
            mailbox_endpoint.PREFIX: MailboxEndpoint(Mailbox(data_dir / "mail")),
            dns_endpoint.PREFIX: DnsEndpoint(LocalZone(data_dir / "dns"), ServiceRecords()),
        },
    )
    host, port = os.environ.get("API_HOST", "127.0.0.1"), int(os.environ["API_PORT"])
    server(gateway, host=host, port=port).run()


if __name__ == "__main__":
    main()
