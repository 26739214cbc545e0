"""Load the relay's certificate: the operator's, or one self-signed at the first start.

`TlsContexts` watches the files: a renewed certificate is used from the next handshake on, without a
restart. If the files do not load, the last good certificate stays in use.
"""

from __future__ import annotations

import fcntl
import logging
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chalicelib.core import clock

logger = logging.getLogger("relay")


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """A certificate chain and its key, PEM; both may be one file."""

    certificate: Path
    key: Path


def server_context() -> ssl.SSLContext:
    """Return a server's context (TLS 1.2 and later) that has no certificate yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class TlsContexts:
    """Server contexts from certificate files, renewed when the files change."""

    def __init__(
        self,
        files: CertificateFiles,
        *,
        look_every: float = 0.0,
        new_context: Callable[[], ssl.SSLContext] = server_context,
    ) -> None:
        """Load the files; raises OSError or ssl.SSLError if they cannot be used.

        A change is noticed `look_every` seconds later at most. `new_context` makes the contexts
        that the certificates are loaded into.
        """
        self._files = files
        self._look_every = look_every
        self._new_context = new_context
        self._looked_at = clock.monotonic()
        self._seen = self._state()
        self._context = self._load()

    def current(self) -> ssl.SSLContext:
        """Return the context for the next handshake."""
        if clock.monotonic() - self._looked_at >= self._look_every:
            self._looked_at = clock.monotonic()
            self._look()
        return self._context

    def _look(self) -> None:
        try:
            state = self._state()
            if state != self._seen:
                # Set first, so that files that do not load are tried once per change.
                self._seen = state
                self._context = self._load()
        except OSError:
            logger.exception(
                "certificate not reloaded",
                extra={"file": str(self._files.certificate)},
            )

    def following(self) -> ssl.SSLContext:
        """Return a context for a port that is under TLS from the first octet on.

        Each handshake uses the context that is current then.
        """
        context = self._new_context()
        context.sni_callback = self._use_current
        return context

    def _use_current(self, connection: Any, name: str | None, context: ssl.SSLContext) -> None:
        connection.context = self.current()

    def _state(self) -> tuple[tuple[int, int, int], ...]:
        stats = [os.stat(path) for path in (self._files.certificate, self._files.key)]
        return tuple((stat.st_ino, stat.st_mtime_ns, stat.st_size) for stat in stats)

    def _load(self) -> ssl.SSLContext:
        context = self._new_context()
        context.load_cert_chain(self._files.certificate, self._files.key)
        return context


def self_signed(directory: Path, hostname: str) -> CertificateFiles:
    """Return the certificate in `directory`, which is made if there is none.

    It names `hostname`, localhost and the loopback addresses; a client can use it as trust anchor.
    Several processes may start at once.
    """
    files = CertificateFiles(directory / "relay-cert.pem", directory / "relay-key.pem")
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / "relay-cert.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (files.certificate.exists() and files.key.exists()):
            _make(files, hostname)
    return files


def _make(files: CertificateFiles, hostname: str) -> None:
    # Imported here: the library takes a tenth of a second, and most starts have a certificate
    from relay.self_signed import self_signed_pair

    pair = self_signed_pair([hostname])
    _write(files.key, pair.key)
    _write(files.certificate, pair.certificate)


def _write(path: Path, content: bytes) -> None:
    """Write all of the file or nothing, readable by the owner only."""
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    os.replace(unfinished, path)
