"""Issue certificates for tests without an authority."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from infrastructure.machine.certificates.certificate_facts import with_directory
from infrastructure.machine.certificates.order_failure import Failure, OrderFailed
from infrastructure.machine.certificates.tls_files import TlsFiles
from relay.self_signed import PemPair, key_pem

DAY = 86_400.0
NOW = 1_800_000_000.0
DIRECTORY = "https://authority.test/directory"


def issued_pair(
    names: Sequence[str],
    *,
    issued_at: float = NOW,
    days: float = 90,
    directory: str = DIRECTORY,
) -> PemPair:
    """Return a certificate of an authority that nobody trusts, with a new key."""
    key = ec.generate_private_key(ec.SECP256R1())
    begin = datetime.datetime.fromtimestamp(issued_at, datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Authority")]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(list(map(x509.DNSName, names))), critical=False)
        .sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    )
    chain = with_directory(certificate.public_bytes(Encoding.PEM).decode(), directory)
    return PemPair(chain.encode(), key_pem(key))


def store_tracking_certificate(data_dir: Path, name: str, pair: PemPair) -> Path:
    """Write the file of a tracking domain."""
    files = TlsFiles(data_dir)
    files.make_folders()
    path = files.tracking_file(name)
    path.write_bytes(pair.certificate + pair.key)
    return path


class FakeAuthority:
    """Issues certificates at ``now``, or fails as ``failures`` say, and keeps what was ordered."""

    def __init__(self, days: float = 90) -> None:
        self.now = NOW
        self.days = days
        self.directory = DIRECTORY
        self.failures: dict[str, Failure] = {}
        self.orders: list[tuple[str, ...]] = []

    def obtain(self, names: Sequence[str]) -> PemPair:
        self.orders.append(tuple(names))
        for name in names:
            if name in self.failures:
                raise OrderFailed(self.failures[name])
        return issued_pair(names, issued_at=self.now, days=self.days, directory=self.directory)

    def taken_orders(self) -> list[tuple[str, ...]]:
        """Return the orders since the last call."""
        orders, self.orders = self.orders, []
        return orders
