"""Load the relay's certificate: the operator's, or one self-signed at the first start.

`TlsContexts` watches the files: a renewed certificate is used from the next handshake on, without a
restart. If the files do not load, the last good certificate stays in use.
"""

from __future__ import annotations

import datetime
import fcntl
import ipaddress
import logging
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

logger = logging.getLogger("relay")

_VALID_FOR = datetime.timedelta(days=3650)
# A client's clock may be late.
_VALID_BEFORE_NOW = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """A certificate chain and its key, PEM; both may be one file."""

    certificate: Path
    key: Path


class TlsContexts:
    """Server contexts (TLS 1.2 and later) from certificate files, renewed when the files change."""

    def __init__(self, files: CertificateFiles) -> None:
        """Load the files; raises OSError or ssl.SSLError if they cannot be used."""
        self._files = files
        self._seen = self._state()
        self._context = self._load()

    def current(self) -> ssl.SSLContext:
        """Return the context for the next handshake."""
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
        return self._context

    def following(self) -> ssl.SSLContext:
        """Return a context for a port that is under TLS from the first octet on.

        Each handshake uses the context that is current then.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.sni_callback = self._use_current
        return context

    def _use_current(self, connection: Any, name: str | None, context: ssl.SSLContext) -> None:
        connection.context = self.current()

    def _state(self) -> tuple[tuple[int, int, int], ...]:
        stats = [os.stat(path) for path in (self._files.certificate, self._files.key)]
        return tuple((stat.st_ino, stat.st_mtime_ns, stat.st_size) for stat in stats)

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
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
    key = ec.generate_private_key(ec.SECP256R1())
    _write(
        files.key,
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )
    certificate = _certificate(key, hostname)
    _write(files.certificate, certificate.public_bytes(serialization.Encoding.PEM))


def _write(path: Path, content: bytes) -> None:
    """Write all of the file or nothing, readable by the owner only."""
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    os.replace(unfinished, path)


def _certificate(key: ec.EllipticCurvePrivateKey, hostname: str) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hostname[:64])])
    public_key = key.public_key()
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _VALID_BEFORE_NOW)
        .not_valid_after(now + _VALID_FOR)
        .add_extension(x509.SubjectAlternativeName(_names(hostname)), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .sign(key, hashes.SHA256())
    )


def _names(hostname: str) -> list[x509.GeneralName]:
    addresses = [ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1")]
    names = list(dict.fromkeys([hostname, "localhost"]))
    return [*map(x509.DNSName, names), *map(x509.IPAddress, addresses)]
