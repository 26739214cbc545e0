"""Make the certificates of the local runtime, so that clients which insist on TLS can use it.

The first start makes an authority for this data directory, and a certificate for ``localhost`` and
the further names of this machine that it signs. A user who trusts the authority
(``tls/authority.pem``) trusts both ports. The authority can name nothing but this machine, so its
key is of no use to others (RFC 5280 4.2.1.10). A start makes the certificate anew once it is a year
old, and both once there is a new name.
"""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import ssl
import time
from collections.abc import Callable, Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from infrastructure.local.supervisor.private_files import replace_private

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

_FOLDER = "tls"
_NAMES_FILE = "names.json"
_AUTHORITY_DAYS, _SERVER_DAYS, _RENEWED_AFTER_DAYS = 3650, 800, 365
_DAY = 86_400
# Clocks of clients in containers may be late
_EARLIER = datetime.timedelta(days=1)


class Files(NamedTuple):
    """The certificate of the authority, and the server's chain and key (PEM)."""

    authority: Path
    certificate: Path
    key: Path


def files(data_dir: Path) -> Files:
    """Return where the certificates of a data directory are."""
    folder = data_dir / _FOLDER
    return Files(folder / "authority.pem", folder / "server.pem", folder / "server-key.pem")


def provide(data_dir: Path, names: Collection[str] = ()) -> Files:
    """Return the certificates of a data directory; what is missing or old is made.

    ``names`` are names and addresses besides those of loopback. Those of earlier starts stay, so
    that the authority changes only for a new name.

    The library is imported only then: it takes a tenth of a second of a start.
    """
    paths = files(data_dir)
    paths.authority.parent.mkdir(exist_ok=True)
    authority_key = paths.authority.with_name("authority-key.pem")
    names_file = paths.authority.with_name(_NAMES_FILE)
    earlier_names = _read_names(names_file)
    all_names = sorted({*earlier_names, *names})
    is_new = not (paths.authority.exists() and authority_key.exists())
    is_new = is_new or len(all_names) > len(earlier_names)
    if is_new:
        _make_authority(paths.authority, authority_key, all_names)
    if is_new or _is_old(paths.certificate) or not paths.key.exists():
        _make_server(paths, authority_key, all_names)
    if is_new:
        replace_private(names_file, json.dumps(all_names))
    return paths


def _read_names(path: Path) -> list[str]:
    try:
        return [str(name) for name in json.loads(path.read_text())]
    except (OSError, ValueError, TypeError):  # none yet, or torn: the names of now are enough
        return []


def server_context(data_dir: Path) -> ssl.SSLContext:
    """Return the context of a server with the certificate of a data directory."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    paths = files(data_dir)
    context.load_cert_chain(paths.certificate, paths.key)
    return context


def _is_old(path: Path) -> bool:
    try:
        return time.time() - os.stat(path).st_mtime > _RENEWED_AFTER_DAYS * _DAY
    except FileNotFoundError:
        return True


def _make_authority(path: Path, key_path: Path, names: Collection[str]) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    constraints = x509.NameConstraints(
        permitted_subtrees=[
            x509.DNSName("localhost"),
            x509.IPAddress(ipaddress.ip_network("127.0.0.0/8")),
            x509.IPAddress(ipaddress.ip_network("::1/128")),
            *(_general_name(name, ipaddress.ip_network) for name in names),
        ],
        excluded_subtrees=None,
    )
    name = _name("Postfinch on this machine")
    builder = (
        _builder(name, key, _AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(constraints, critical=True)
    )
    _write_key(key_path, key)
    replace_private(path, _pem(_signed(builder, name, key)))
    # Other users' programs are to trust it, such as those of a container that shares the folder
    path.chmod(0o644)


def _general_name(
    name: str,
    read_address: Callable[[str], IPv4Address | IPv6Address | IPv4Network | IPv6Network],
) -> x509.GeneralName:
    """Return a name, or the address that it is, in the form of a certificate."""
    from cryptography import x509

    try:
        return x509.IPAddress(read_address(name))
    except ValueError:
        return x509.DNSName(name)


def _make_server(paths: Files, authority_key: Path, names: Collection[str]) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509.oid import ExtendedKeyUsageOID

    issuer_key = load_pem_private_key(authority_key.read_bytes(), None)
    assert isinstance(issuer_key, ec.EllipticCurvePrivateKey)
    issuer = x509.load_pem_x509_certificate(paths.authority.read_bytes())
    key = ec.generate_private_key(ec.SECP256R1())
    all_names = ("localhost", *names, "127.0.0.1", "::1")
    general_names = [_general_name(name, ipaddress.ip_address) for name in all_names]
    server = [ExtendedKeyUsageOID.SERVER_AUTH]
    builder = (
        _builder(_name("localhost"), key, _SERVER_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(server), critical=False)
        .add_extension(x509.SubjectAlternativeName(general_names), critical=False)
    )
    _write_key(paths.key, key)
    chain = _pem(_signed(builder, issuer.subject, issuer_key)) + _pem(issuer)
    replace_private(paths.certificate, chain)


def _name(text: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(name: x509.Name, key: EllipticCurvePrivateKey, days: int) -> x509.CertificateBuilder:
    from cryptography import x509

    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _signed(
    builder: x509.CertificateBuilder, issuer: x509.Name, key: EllipticCurvePrivateKey
) -> x509.Certificate:
    """Sign a certificate by the key of its issuer."""
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256

    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    return builder.issuer_name(issuer).add_extension(identifier, critical=False).sign(key, SHA256())


def _pem(certificate: x509.Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()


def _write_key(path: Path, key: EllipticCurvePrivateKey) -> None:
    from cryptography.hazmat.primitives import serialization

    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    replace_private(path, pem.decode())
