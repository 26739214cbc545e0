"""Run the port that takes any mail: ``python -m infrastructure.local.catching``.

It listens on ``CATCH_PORT`` of ``API_HOST`` (loopback by default) until SIGTERM, and stores what
comes in the mailbox of ``DATA_DIR``.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

import uvloop

from infrastructure.local import certificates
from infrastructure.local.catching.choices import CatchChoices
from infrastructure.local.catching.service import Catching
from infrastructure.local.sink.mailbox import SinkMailbox
from relay.config import RelayConfig
from relay.server import RelayServer, serve
from relay.tls import CertificateFiles, TlsContexts

_MIB = 1024 * 1024
#: Mailpit takes 50 MB
_MOST_BYTES = 50 * _MIB


def main() -> None:
    """Serve until SIGTERM."""
    logging.basicConfig(level=logging.WARNING, format="catching: %(message)s")
    choices = CatchChoices.read(os.environ)
    data_dir = Path(os.environ["DATA_DIR"])
    mailbox = SinkMailbox(data_dir / "mail")
    files = certificates.files(data_dir)
    server = RelayServer(
        RelayConfig(
            hostname="localhost",
            host=os.environ.get("API_HOST") or "127.0.0.1",
            ports=(int(os.environ["CATCH_PORT"]),),
            require_tls=False,
            lenient=True,
            max_message=_MOST_BYTES,
            max_text_line=None,
            max_in_memory=4 * _MIB,
            max_command_line=8192,
            max_messages=1_000_000,
            drain_seconds=5.0,
            workers=4,
        ),
        Catching(mailbox, choices.inbox_by),
        TlsContexts(CertificateFiles(files.certificate, files.key)),
    )
    uvloop.run(serve(server))
    mailbox.close()


if __name__ == "__main__":
    main()
