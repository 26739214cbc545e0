"""Choose the certificate of each TLS handshake by the name that the client asks for."""

from __future__ import annotations

import logging
import ssl
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chalicelib.core import clock
from infrastructure.machine.certificates import challenges
from infrastructure.machine.certificates.host_names import objection
from infrastructure.machine.certificates.tls_files import TlsFiles
from relay.tls import CertificateFiles, TlsContexts, server_context

log = logging.getLogger(__name__)

#: How long a changed file may go unnoticed, in seconds
LOOK_EVERY = 1.0
#: A context takes some 60 KB
_MOST_NAMES = 256
# With forward secrecy and authenticated encryption only (RFC 9325 4.2); TLS 1.3 has no others
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"


@dataclass(slots=True)
class _TrackingContexts:
    """Contexts of a tracking domain; ``None`` while its file cannot be used."""

    contexts: TlsContexts | None
    looked_at: float


class ServerCertificates:
    """The certificates of an HTTPS server: the service's own, and those of tracking domains.

    Files that change are loaded at the next handshake. All methods are for one thread.
    """

    def __init__(
        self,
        data_dir: Path,
        service: CertificateFiles | None = None,
        *,
        alpn: Sequence[str] = ("http/1.1",),
        most_names: int = _MOST_NAMES,
    ) -> None:
        """``service`` are the operator's files, instead of those of the data directory.

        ``alpn`` are the protocols that the server speaks. ``most_names`` tracking domains are kept
        in memory. Raises OSError or ssl.SSLError if the service's files cannot be used.
        """
        self._files = TlsFiles(data_dir)
        self._alpn = tuple(alpn)
        self._most_names = most_names
        self._service = self._load(service or self._files.service)
        self._tracking: OrderedDict[str, _TrackingContexts] = OrderedDict()

    def context(self) -> ssl.SSLContext:
        """Return the context of the server's socket, which takes each handshake's certificate."""
        context = self._new_context()
        context.sni_callback = self._choose
        return context

    def challenge(self, token: str) -> str | None:
        """Return the answer to an authority's HTTP-01 challenge, ``None`` if there is none.

        ``token`` is what follows ``/.well-known/acme-challenge/``, as a stranger wrote it.
        """
        return challenges.read(self._files.challenges, token)

    def _choose(self, connection: Any, name: str | None, context: ssl.SSLContext) -> None:
        tracking = self._of_tracking_domain(name.lower()) if name else None
        connection.context = (tracking or self._service).current()

    def _of_tracking_domain(self, name: str) -> TlsContexts | None:
        if objection(name):
            return None
        entry = self._tracking.get(name)
        if entry is None or clock.monotonic() - entry.looked_at >= LOOK_EVERY:
            entry = self._look(name, entry)
        if entry is None:
            return None
        self._tracking.move_to_end(name)
        return entry.contexts

    def _look(self, name: str, entry: _TrackingContexts | None) -> _TrackingContexts | None:
        """Return the entry of a name as it is now, ``None`` if the name has no file."""
        path = self._files.tracking_file(name)
        if not path.exists():
            self._tracking.pop(name, None)
            return None
        contexts = entry.contexts if entry else None
        try:
            contexts = contexts or self._load(CertificateFiles(path, path))
        except OSError as error:
            log.warning("the certificate of %s cannot be used: %s", name, error)
        entry = self._tracking[name] = _TrackingContexts(contexts, clock.monotonic())
        while len(self._tracking) > self._most_names:
            self._tracking.popitem(last=False)
        return entry

    def _load(self, files: CertificateFiles) -> TlsContexts:
        return TlsContexts(files, look_every=LOOK_EVERY, new_context=self._new_context)

    def _new_context(self) -> ssl.SSLContext:
        context = server_context()
        context.set_ciphers(_CIPHERS)
        context.set_alpn_protocols(list(self._alpn))
        return context
