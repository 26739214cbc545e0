"""Provide the certificate of the service's own names: self-signed until there is a better one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chalicelib.core import clock
from infrastructure.local.supervisor.private_files import replace_private
from infrastructure.machine.certificates.certificate_facts import CertificateFacts, read_facts
from infrastructure.machine.certificates.host_names import in_certificates
from infrastructure.machine.certificates.tls_files import TlsFiles
from relay.self_signed import PemPair, self_signed_pair
from relay.tls import CertificateFiles

#: A self-signed certificate is made anew when less than this part of its ten years is left
_REMAINING = 0.5
_BEGIN_KEY = b"-----BEGIN PRIVATE KEY-----"  # pragma: allowlist secret


def provide(data_dir: Path, names: Sequence[str]) -> CertificateFiles:
    """Return a certificate with which ports can be bound; it is made if there is none.

    One that is there stays, even for other names, unless it is damaged or over, or was made here.
    """
    names = in_certificates(names)
    files = TlsFiles(data_dir)
    files.make_folders()
    finish(files)
    facts = read_facts(files.service)
    if facts is None or _is_useless(facts, names, clock.now()):
        install(files, self_signed_pair(names))
    return files.service


def install(files: TlsFiles, pair: PemPair) -> None:
    """Replace certificate and key.

    Readers meet a pair that does not match between the two; they keep the former one for this
    moment (``relay.tls.TlsContexts``). What a kill leaves half done, :func:`finish` completes.
    """
    replace_private(_unfinished(files), (pair.certificate + pair.key).decode())
    _replace(files, pair)


def finish(files: TlsFiles) -> None:
    """Complete a replacement that was interrupted, if there is one."""
    path = _unfinished(files)
    if path.exists():
        chain, begin, key = path.read_bytes().partition(_BEGIN_KEY)
        _replace(files, PemPair(chain, begin + key))


def _replace(files: TlsFiles, pair: PemPair) -> None:
    replace_private(files.service.key, pair.key.decode())
    replace_private(files.service.certificate, pair.certificate.decode())
    _unfinished(files).unlink()


def _unfinished(files: TlsFiles) -> Path:
    return files.service.certificate.with_name("unfinished.pem")


def _is_useless(facts: CertificateFacts, names: Sequence[str], now: float) -> bool:
    is_over = facts.not_after <= now
    if not facts.is_self_signed:
        return is_over
    return facts.remaining(now) < _REMAINING or not facts.names.issuperset(names)
