"""Make a self-signed certificate, with which a server can be reached until it has a better one."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID_FOR = datetime.timedelta(days=3650)
# A client's clock may be late.
_VALID_BEFORE_NOW = datetime.timedelta(days=1)


class PemPair(NamedTuple):
    """A certificate, which may be a chain, and its key, both PEM."""

    certificate: bytes
    key: bytes


def self_signed_pair(hostnames: Sequence[str]) -> PemPair:
    """Return a certificate for `hostnames`, localhost and the loopback addresses.

    A client can use it as trust anchor.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _certificate(key, hostnames)
    return PemPair(certificate.public_bytes(serialization.Encoding.PEM), key_pem(key))


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a private key as PEM, not encrypted."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _certificate(key: ec.EllipticCurvePrivateKey, hostnames: Sequence[str]) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hostnames[0][:64])])
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
        .add_extension(x509.SubjectAlternativeName(_names(hostnames)), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .sign(key, hashes.SHA256())
    )


def _names(hostnames: Sequence[str]) -> list[x509.GeneralName]:
    addresses = [ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1")]
    names = list(dict.fromkeys([*hostnames, "localhost"]))
    return [*map(x509.DNSName, names), *map(x509.IPAddress, addresses)]
