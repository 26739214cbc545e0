"""Make the certificates that mail hosts show: a valid one and each common fault."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

ADDRESS = "127.0.0.1"
HOST = "mx.chain.signed.test"


def make_certificates(folder: Path) -> None:
    """Write `authority.pem`, and each host's key and certificate as one file.

    `valid.pem` is for 127.0.0.1 and localhost; `self-signed.pem`, `expired.pem` and
    `wrong-host.pem` are as their names say. `with-authority.pem` also has the certificate of the
    authority, and is for `HOST`.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    day = timedelta(days=1)

    def write(file: str, name: str, *, signed: bool = True, until: datetime = now + day) -> None:
        subject = _name(name)
        names: list[x509.GeneralName] = [x509.DNSName(name)]
        if name == "localhost":
            names.append(x509.IPAddress(ip_address(ADDRESS)))
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(_name("Authority") if signed else subject)
            .public_key(host_key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 2 * day)
            .not_valid_after(until)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .sign(key if signed else host_key, hashes.SHA256())
        )
        (folder / file).write_bytes(_pem(host_key) + certificate.public_bytes(_PEM))

    host_key = ec.generate_private_key(ec.SECP256R1())
    (folder / "authority.pem").write_bytes(_authority(key, now, day).public_bytes(_PEM))
    write("valid.pem", "localhost")
    write("self-signed.pem", "localhost", signed=False)
    write("expired.pem", "localhost", until=now - day)
    write("wrong-host.pem", "elsewhere.test")
    authority = (folder / "authority.pem").read_bytes()
    for file, until in (("with-authority", now + day), ("with-authority-expired", now - day)):
        write(f"{file}.pem", HOST, until=until)
        with (folder / f"{file}.pem").open("ab") as chain:
            chain.write(authority)


_PEM = serialization.Encoding.PEM


def _authority(key: ec.EllipticCurvePrivateKey, now: datetime, day: timedelta) -> x509.Certificate:
    name = _name("Authority")
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 2 * day)
        .not_valid_after(now + day)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    private_format = serialization.PrivateFormat.PKCS8
    return key.private_bytes(_PEM, private_format, serialization.NoEncryption())
