"""Run the HTTP server of the local runtime: ``python -m infrastructure.local.gateway``.

It serves on ``API_PORT`` of ``API_HOST`` (loopback by default):

- the whole application, through the same gateway events as on AWS
- ``GET /local/mailbox``, ``GET /local/mailbox/{id}`` and ``DELETE /local/mailbox``: the mail that
  left through the bundled sink. They need no key.
"""

from __future__ import annotations

import os
from pathlib import Path

from app import app
from chalicelib.core.settings import settings
from infrastructure.local.gateway.application import Gateway, server
from infrastructure.local.gateway.mailbox_endpoint import PREFIX, MailboxEndpoint
from infrastructure.local.sink.mailbox import Mailbox


def main() -> None:
    """Serve until SIGTERM."""
    mailbox = Mailbox(Path(os.environ["DATA_DIR"]) / "mail")
    gateway = Gateway(
        app,
        max_body_bytes=settings().max_body_bytes,
        extra={PREFIX: MailboxEndpoint(mailbox)},
    )
    host, port = os.environ.get("API_HOST", "127.0.0.1"), int(os.environ["API_PORT"])
    server(gateway, host=host, port=port).run()


if __name__ == "__main__":
    main()
