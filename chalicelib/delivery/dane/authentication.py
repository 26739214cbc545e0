"""Compare the certificates that a mail host shows with its TLSA records (RFC 6698, RFC 7672 3).

- Usage 3 (DANE-EE): the host's own certificate must match a record. Neither its names nor its dates
  count (RFC 7672 3.1.1).
- Usage 2 (DANE-TA): a certificate above it must match, and the host's certificate must lead to that
  one, be valid now and name the host (RFC 7672 3.1.2).
- Usages 0 and 1 depend on authorities that no mail host can agree on, and are not used (RFC 7672
  3.1.3).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.x509.oid import ExtensionOID, NameOID

from chalicelib.core import clock
from chalicelib.core.tls_results import (
    EXPIRED,
    HOST_MISMATCH,
    NOT_TRUSTED,
)
from chalicelib.delivery.dane.records import Selector, TlsaRecord, Usage

_VERSION = b"\xa0"  # the tag of a certificate's first element, if it has a version (RFC 5280 4.1)
_UNREADABLE = (
    ValueError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
_DIGESTS = {1: hashlib.sha256, 2: hashlib.sha512}


class NotAuthenticated(Exception):
    """The host's certificates do not match its records.

    ``kind`` is the one that TLS reports have for it (RFC 8460 4.3).
    """

    def __init__(self, reason: str, kind: str) -> None:
        super().__init__(reason)
        self.kind = kind


class Certificate:
    """A certificate that a host showed."""

    def __init__(self, der: bytes) -> None:
        self._der = der

    @cached_property
    def x509(self) -> x509.Certificate:
        """The certificate, parsed."""
        return x509.load_der_x509_certificate(self._der)

    def part(self, selector: int) -> bytes:
        """Return what a selector stands for, as DER."""
        if selector == Selector.CERTIFICATE:
            return self._der
        # As it is: encoded anew, keys of some kinds (RFC 4055 1.2) are other bytes
        elements = list(_elements(self.x509.tbs_certificate_bytes))
        has_version = elements[0][:1] == _VERSION
        return elements[6 if has_version else 5]

    def names(self) -> Iterator[str]:
        """Yield the host names of the certificate, in lower case."""
        try:
            extension = self.x509.extensions.get_extension_for_oid(
                ExtensionOID.SUBJECT_ALTERNATIVE_NAME
            )
        except x509.ExtensionNotFound:
            for attribute in self.x509.subject.get_attributes_for_oid(NameOID.COMMON_NAME):
                yield str(attribute.value).lower()
            return
        assert isinstance(extension.value, x509.SubjectAlternativeName)
        yield from (name.lower() for name in extension.value.get_values_for_type(x509.DNSName))

    def is_authority(self) -> bool:
        """Tell whether the certificate may sign others (RFC 5280 4.2.1.9)."""
        try:
            extension = self.x509.extensions.get_extension_for_oid(ExtensionOID.BASIC_CONSTRAINTS)
        except x509.ExtensionNotFound:
            return False
        return isinstance(extension.value, x509.BasicConstraints) and extension.value.ca


def authenticate(
    chain: Sequence[bytes], records: Iterable[TlsaRecord], names: Sequence[str]
) -> None:
    """Return if a host is the one that usable ``records`` stand for.

    ``chain`` are the certificates that it showed, as DER, its own first. ``names`` are those of
    which the certificate must have one, where names count. Raises :class:`NotAuthenticated`.
    """
    certificates = [Certificate(der) for der in chain]
    if not certificates:
        raise NotAuthenticated("the host showed no certificate", NOT_TRUSTED)
    try:
        _authenticate(certificates, list(records), names)
    except _UNREADABLE as error:
        text = f"a certificate of the host cannot be read: {error}"
        raise NotAuthenticated(text, NOT_TRUSTED) from error


def _authenticate(
    certificates: Sequence[Certificate], records: Sequence[TlsaRecord], names: Sequence[str]
) -> None:
    own = certificates[0]
    if any(record.usage == Usage.HOST and _matches_record(own, record) for record in records):
        return
    authorities = [record for record in records if record.usage == Usage.AUTHORITY]
    for above in range(1, len(certificates)):
        if any(_matches_record(certificates[above], record) for record in authorities):
            _check_path(certificates[: above + 1], names)
            return
    text = "no TLSA record matches the certificates of the host"
    raise NotAuthenticated(text, NOT_TRUSTED)


def _matches_record(certificate: Certificate, record: TlsaRecord) -> bool:
    content = certificate.part(record.selector)
    digest = _DIGESTS.get(record.matching)
    return hmac.compare_digest(digest(content).digest() if digest else content, record.data)


def _check_path(path: Sequence[Certificate], names: Sequence[str]) -> None:
    """Check that the host's certificate, the first one, is valid and leads to the last one."""
    now = datetime.fromtimestamp(clock.now(), UTC)
    for each in path:
        if not each.x509.not_valid_before_utc <= now <= each.x509.not_valid_after_utc:
            raise NotAuthenticated("a certificate of the host has expired", EXPIRED)
    for certificate, issuer in pairwise(path):
        if not issuer.is_authority():
            text = "a certificate of the host was issued by one that is no authority"
            raise NotAuthenticated(text, NOT_TRUSTED)
        try:
            certificate.x509.verify_directly_issued_by(issuer.x509)
        except (InvalidSignature, TypeError, UnsupportedAlgorithm, ValueError) as error:
            text = "the certificates of the host do not lead to the one in its TLSA record"
            raise NotAuthenticated(text, NOT_TRUSTED) from error
    if not any(_is_name(pattern, name) for pattern in path[0].names() for name in names):
        text = f"the certificate is not for {names[0]}"
        raise NotAuthenticated(text, HOST_MISMATCH)


def _is_name(pattern: str, name: str) -> bool:
    """Compare a name of a certificate with one of a host; ``*.`` stands for one label."""
    return pattern == name or (
        pattern.startswith("*.") and pattern[2:] == name.partition(".")[2] != ""
    )


def _elements(sequence: bytes) -> Iterator[bytes]:
    """Yield the elements of a sequence, each with its tag and length (DER, X.690 8.1, 10.1)."""
    at, end = _content(sequence, 0)
    while at < end:
        following = _content(sequence, at)[1]
        yield sequence[at:following]
        at = following


def _content(data: bytes, at: int) -> tuple[int, int]:
    """Return where the content of the element at ``at`` begins and ends."""
    length, start = data[at + 1], at + 2
    if length & 0x80:  # then it is the number of bytes that hold the length
        size = length & 0x7F
        length, start = int.from_bytes(data[start : start + size]), start + size
    return start, start + length
