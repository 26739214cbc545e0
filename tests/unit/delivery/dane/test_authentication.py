"""Certificates are compared with TLSA records; whatever a host shows, the answer is yes or no."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.delivery.dane.authentication import Certificate, NotAuthenticated, authenticate
from chalicelib.delivery.dane.records import TlsaRecord

NAME = "mx.example.test"
DAY = timedelta(days=1)
DER = serialization.Encoding.DER
_VERSION = bytes.fromhex("a003020102")
KEYS = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("host", "middle", "root")}


def certificate(
    subject: str,
    issuer: str,
    names: list[str] | None = None,
    *,
    is_authority: bool = False,
    until: datetime | None = None,
) -> bytes:
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(KEYS[subject if subject in KEYS else "host"].public_key())
        .serial_number(7)
        .not_valid_before(now - 2 * DAY)
        .not_valid_after(until or now + DAY)
    )
    if is_authority:
        limits = x509.BasicConstraints(ca=True, path_length=None)
        builder = builder.add_extension(limits, critical=True)
    if names is not None:
        entries = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
        builder = builder.add_extension(entries, critical=False)
    return builder.sign(KEYS[issuer], hashes.SHA256()).public_bytes(DER)


ROOT = certificate("root", "root", is_authority=True)
MIDDLE = certificate("middle", "root", is_authority=True)
HOST = certificate("host", "middle", [NAME])
AUTHORITY = TlsaRecord(2, 0, 1, hashlib.sha256(ROOT).digest())
OWN = TlsaRecord(3, 0, 1, hashlib.sha256(HOST).digest())


def kind_of(chain: list[bytes], *records: TlsaRecord, names: tuple[str, ...] = (NAME,)) -> str:
    """Return why a host is not authenticated, empty if it is."""
    try:
        authenticate(chain, records, names)
    except NotAuthenticated as error:
        return error.kind
    return ""


def test_one_matching_record_is_enough() -> None:
    other = TlsaRecord(3, 0, 1, bytes(32))
    assert kind_of([HOST], other, OWN) == ""
    assert kind_of([HOST, MIDDLE, ROOT], other, AUTHORITY) == ""
    assert kind_of([HOST], other) == "certificate-not-trusted"


def test_a_path_leads_through_each_certificate() -> None:
    assert kind_of([HOST, ROOT], AUTHORITY) == "certificate-not-trusted"
    assert kind_of([HOST, ROOT, MIDDLE], AUTHORITY) == "certificate-not-trusted"
    forged = certificate("middle", "middle", is_authority=True)
    assert kind_of([HOST, forged, ROOT], AUTHORITY) == "certificate-not-trusted"


def test_only_an_authority_may_vouch_for_others() -> None:
    """Anyone with a certificate below the root could otherwise vouch for any host."""
    customer = certificate("middle", "root", ["customer.test"])
    assert kind_of([HOST, customer, ROOT], AUTHORITY) == "certificate-not-trusted"


@pytest.mark.parametrize(
    ("names", "is_valid"),
    [
        ([NAME.upper()], True),
        (["*.example.test"], True),
        (["example.test"], True),
        (["*.net"], False),
        (["mx.*.test"], False),
        (["other.example.test"], False),
        ([], False),
    ],
)
def test_the_certificate_names_the_host_or_the_domain(names: list[str], is_valid: bool) -> None:
    host = certificate("host", "root", names)
    kind = kind_of([host, ROOT], AUTHORITY, names=(NAME, "example.test"))
    assert kind == ("" if is_valid else "certificate-host-mismatch")


def test_the_common_name_counts_where_there_are_no_others() -> None:
    host = certificate(NAME, "root")
    assert kind_of([host, ROOT], AUTHORITY) == ""
    assert kind_of([certificate(NAME, "root", [])], AUTHORITY) == "certificate-not-trusted"


def test_an_expired_authority_vouches_for_nobody() -> None:
    root = certificate("root", "root", is_authority=True, until=datetime.now(UTC) - DAY)
    record = TlsaRecord(2, 0, 1, hashlib.sha256(root).digest())
    assert kind_of([certificate("host", "root", [NAME]), root], record) == "certificate-expired"


@pytest.mark.parametrize(
    ("record", "is_usable"),
    [
        (OWN, True),
        (TlsaRecord(3, 0, 0, b"any"), True),
        (TlsaRecord(2, 1, 2, bytes(64)), True),
        (TlsaRecord(0, 0, 1, bytes(32)), False),
        (TlsaRecord(1, 0, 1, bytes(32)), False),
        (TlsaRecord(4, 0, 1, bytes(32)), False),
        (TlsaRecord(3, 2, 1, bytes(32)), False),
        (TlsaRecord(3, 0, 3, bytes(32)), False),
        (TlsaRecord(3, 0, 1, bytes(31)), False),
        (TlsaRecord(3, 0, 2, bytes(32)), False),
    ],
)
def test_records_of_other_kinds_or_sizes_are_not_used(record: TlsaRecord, is_usable: bool) -> None:
    assert record.is_usable is is_usable


@pytest.mark.parametrize("selector", [0, 1])
@settings(max_examples=100)
@given(chain=st.lists(st.binary(max_size=40) | st.sampled_from([HOST, MIDDLE, ROOT]), max_size=3))
def test_whatever_a_host_shows_the_answer_is_yes_or_no(selector: int, chain: list[bytes]) -> None:
    record = TlsaRecord(3, selector, 1, hashlib.sha256(b"none").digest())
    assert kind_of(chain, record, AUTHORITY) in (
        *("", "certificate-not-trusted", "certificate-host-mismatch"),
    )


@pytest.mark.parametrize("version", [_VERSION, b""])
def test_a_key_counts_as_it_is_in_the_certificate(version: bytes) -> None:
    """Encoded anew, a key that is only for RSA-PSS (RFC 4055 1.2) would be another one."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()
    spki = key.public_bytes(DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    pss = _tlv(0x30, _tlv(0x06, bytes.fromhex("2a864886f70d01010a")))
    own = _tlv(0x30, pss + spki[4 + 15 :])
    host = _certificate_with(own, version)
    assert b"\x01\x0a" in own
    assert own != Certificate(host).x509.public_key().public_bytes(
        DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    assert kind_of([host], TlsaRecord(3, 1, 1, hashlib.sha256(own).digest())) == ""


def test_a_key_of_an_unknown_kind_is_one_that_does_not_match() -> None:
    curve = _tlv(0x06, bytes.fromhex("2b81040020"))  # secp224k1
    kind = _tlv(0x30, _tlv(0x06, bytes.fromhex("2a8648ce3d0201")) + curve)
    unknown = _certificate_with(_tlv(0x30, kind + _tlv(0x03, bytes(58))))
    with pytest.raises(UnsupportedAlgorithm):
        Certificate(unknown).x509.public_key()
    none = TlsaRecord(3, 1, 1, bytes(32))
    assert kind_of([unknown], none) == "certificate-not-trusted"
    root_key = hashlib.sha256(Certificate(ROOT).part(1)).digest()
    assert kind_of([HOST, unknown, ROOT], TlsaRecord(2, 1, 1, root_key)) != ""
    assert kind_of([HOST, unknown], TlsaRecord(3, 1, 1, Certificate(HOST).part(1))) != ""
    assert kind_of([HOST, unknown], none, OWN) == ""


def _certificate_with(key: bytes, version: bytes = _VERSION) -> bytes:
    """Return the host's certificate with another key, in DER."""
    old_host = x509.load_der_x509_certificate(HOST)
    old = old_host.public_key().public_bytes(DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    before, _, after = old_host.tbs_certificate_bytes.partition(old)
    content = version + before.partition(_VERSION)[2] + key
    if version:  # without one there are no extensions
        content += after
    rest = HOST.partition(old_host.tbs_certificate_bytes)[2]
    return _tlv(0x30, _tlv(0x30, content) + rest)


def _tlv(tag: int, content: bytes) -> bytes:
    size = len(content)
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, *([size] if size < 128 else [0x80 | len(length), *length])]) + content


def test_a_host_without_certificates_is_not_authenticated() -> None:
    assert kind_of([], OWN) == "certificate-not-trusted"
