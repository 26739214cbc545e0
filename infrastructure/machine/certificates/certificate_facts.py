"""Read from a certificate's files what decides whether it is used, renewed or replaced."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from relay.tls import CertificateFiles

# A line before the first certificate: readers of PEM skip it (RFC 7468 2)
_ISSUER_LINE = b"ACME directory: "


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """A certificate with its key. Times are seconds since the epoch.

    ``directory`` is the address of the authority's directory; it is empty for a certificate that
    did not come by ACME.
    """

    names: frozenset[str]
    not_before: float
    not_after: float
    is_self_signed: bool
    directory: str

    def remaining(self, now: float) -> float:
        """Return which part of its lifetime is left: 1 in the beginning, below 0 after its end."""
        return (self.not_after - now) / max(self.not_after - self.not_before, 1.0)


def with_directory(chain_pem: str, directory: str) -> str:
    """Return a chain with a line that says which authority it comes from."""
    return f"{_ISSUER_LINE.decode()}{directory}\n{chain_pem}"


def read_facts(files: CertificateFiles) -> CertificateFacts | None:
    """Return what the files say, ``None`` if they are damaged or do not belong together."""
    try:
        chain, key_pem = files.certificate.read_bytes(), files.key.read_bytes()
        certificate = x509.load_pem_x509_certificate(chain)
        is_pair = load_pem_private_key(key_pem, None).public_key() == certificate.public_key()
        return _facts(certificate, chain) if is_pair else None
    except (OSError, ValueError, TypeError):
        return None


def _facts(certificate: x509.Certificate, chain: bytes) -> CertificateFacts:
    return CertificateFacts(
        names=_names(certificate),
        not_before=certificate.not_valid_before_utc.timestamp(),
        not_after=certificate.not_valid_after_utc.timestamp(),
        is_self_signed=certificate.issuer == certificate.subject,
        directory=_directory(chain),
    )


def _names(certificate: x509.Certificate) -> frozenset[str]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return frozenset()
    return frozenset(extension.value.get_values_for_type(x509.DNSName))


def _directory(chain: bytes) -> str:
    for line in chain.partition(b"-----BEGIN")[0].splitlines():
        if line.startswith(_ISSUER_LINE):
            return line.removeprefix(_ISSUER_LINE).decode(errors="replace").strip()
    return ""


class FactsCache:
    """Facts of files that are read again only when they have changed."""

    def __init__(self) -> None:
        self._facts: dict[CertificateFiles, tuple[object, CertificateFacts | None]] = {}

    def facts(self, files: CertificateFiles) -> CertificateFacts | None:
        """Return what the files say, ``None`` if they cannot be used."""
        state = _state(files.certificate), _state(files.key)
        cached_state, facts = self._facts.get(files, (None, None))
        if cached_state != state:
            facts = read_facts(files)
            self._facts[files] = (state, facts)
        return facts

    def forget(self, files: CertificateFiles) -> None:
        """Forget what was read."""
        self._facts.pop(files, None)


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
