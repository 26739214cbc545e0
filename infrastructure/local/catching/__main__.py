"""Run the port that takes any mail: ``python -m infrastructure.local.catching``.

It listens on ``CATCH_PORT`` of ``API_HOST`` (loopback by default) until SIGTERM. Clients on other
machines are served as ``LOCAL_PEERS`` says. What comes is stored in the mailbox of ``DATA_DIR``, or
sent, as ``CATCH`` says.
"""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import uvloop

from infrastructure.local import certificates
from infrastructure.local.catching.choices import IMPLICIT, SEND, STARTTLS, CatchChoices
from infrastructure.local.catching.gate import Gate
from infrastructure.local.catching.limits import MOST_OCTETS, catching_config
from infrastructure.local.catching.service import Catching
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.tags import TagChoices
from infrastructure.local.releasing.chaos import ChaosFile
from infrastructure.local.supervisor.listeners import listening_sockets
from infrastructure.local.this_machine import LocalAccess
from relay.config import RelayConfig
from relay.server import RelayServer, serve
from relay.services import Service
from relay.tls import CertificateFiles, TlsContexts


def main() -> None:
    """Serve until SIGTERM."""
    logging.basicConfig(level=logging.WARNING, format="catching: %(message)s")
    # A search for circles of objects pays off only after many connections
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    choices = CatchChoices.read(os.environ)
    data_dir = Path(os.environ["DATA_DIR"])
    gate = Gate(choices.passwords, ChaosFile(data_dir).fault, choices.recipients)
    files = certificates.files(data_dir)
    tls = TlsContexts(CertificateFiles(files.certificate, files.key))
    if choices.way == SEND:
        # Imported here: what sends takes half a second to import
        from infrastructure.local.catching.sending import most_octets, sending

        _serve(choices, sending(gate, os.environ["API_KEY"]), tls, most_octets())
        return
    mailbox = SinkMailbox(data_dir / "mail")
    tags = TagChoices.read(os.environ)
    _serve(choices, Catching(mailbox, choices.inbox_by, gate, tags), tls)
    mailbox.close()


def _serve(
    choices: CatchChoices, service: Service, tls: TlsContexts, most_octets: int = MOST_OCTETS
) -> None:
    config = config_of(choices, os.environ, most_octets)
    listeners = listening_sockets(os.environ, "CATCH_PORT")
    uvloop.run(serve(RelayServer(config, service, tls, listeners=listeners)))


def config_of(
    choices: CatchChoices, environ: Mapping[str, str], most_octets: int = MOST_OCTETS
) -> RelayConfig:
    """Return the settings of the port for the choices of an environment."""
    host, port = environ.get("API_HOST") or "127.0.0.1", int(environ["CATCH_PORT"])
    access = LocalAccess.read(environ)
    return replace(
        catching_config(host, port, access, most_octets, lists_tls=choices.tls != ""),
        require_tls=choices.tls == STARTTLS,
        mail_needs_tls=choices.tls == STARTTLS,
        implicit_tls=choices.tls == IMPLICIT,
    )


if __name__ == "__main__":
    main()
