from __future__ import annotations

from base64 import b64decode, b64encode

import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
)

from chalicelib.dkim.dns_record import BadRecord, matching_record, txt_record
from tests.unit import key_pairs

PUBLIC, OTHER = key_pairs.PAIR.public_b64, key_pairs.OTHER.public_b64
KEY = load_der_public_key(b64decode(PUBLIC))
PKCS1 = b64encode(KEY.public_bytes(Encoding.DER, PublicFormat.PKCS1)).decode()
PEMS = [
    KEY.public_bytes(Encoding.PEM, form).decode()
    for form in (PublicFormat.PKCS1, PublicFormat.SubjectPublicKeyInfo)
]


@pytest.mark.spec("2.5-r2")
@pytest.mark.parametrize("public", [PUBLIC, PKCS1, *PEMS])
def test_the_record_publishes_a_key_in_any_form_as_subject_public_key_info(public: str) -> None:
    assert txt_record(public) == f"v=DKIM1; k=rsa; h=sha256; p={PUBLIC}"


@pytest.mark.spec("2.5-r2")
@pytest.mark.parametrize(
    "record",
    [
        f"v=DKIM1; k=rsa; h=sha256; p={PUBLIC}",
        f"p={PUBLIC}",
        f"v=DKIM1;p={PUBLIC};",
        f" v = DKIM1 ;\tk = rsa ; p = {PUBLIC} ; ",
        f"v=DKIM1; p={PUBLIC[:60]} {PUBLIC[60:]}",
        f"v=DKIM1; t=s; n=a note; s=email:other; p={PUBLIC}",
        f"v=DKIM1; s=*; p={PUBLIC}",
        f"v=DKIM1; p={PKCS1}",
    ],
)
def test_a_record_with_the_public_key_is_valid(record: str) -> None:
    assert matching_record([record], PUBLIC) == record
    assert matching_record(["v=spf1 -all", record, "unrelated", ""], PUBLIC) == record


@pytest.mark.spec("2.5-r2")
@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (f"v=DKIM1; k=ed25519; p={PUBLIC}", "k= tag must be rsa"),
        (f"v=DKIM1; k=; p={PUBLIC}", "k= tag must be rsa"),
        (f"v=DKIM1; h=sha1; p={PUBLIC}", "h= tag must be sha256"),
        (f"v=DKIM1; h=sha1:sha256; p={PUBLIC}", "h= tag must be sha256"),
        (f"v=DKIM2; p={PUBLIC}", "v= tag must come first and be DKIM1"),
        (f"p={PUBLIC}; v=DKIM1", "v= tag must come first"),
        (f"v=DKIM1; s=tlsrpt; p={PUBLIC}", "s= tag does not allow email"),
        (f"v=DKIM1; p={PUBLIC}; p={PUBLIC}", "a tag occurs twice"),
        (f"v=DKIM1; p={OTHER}", "another public key"),
        ("v=DKIM1; p=", "the key is revoked"),
        ("v=DKIM1; p=nonsense!", "cannot be used"),
        ("v=DKIM1; k=rsa", "is missing a p= tag"),
        (f"v=DKIM1; P={PUBLIC}", "is missing a p= tag"),
        ("v=DKIM1;", "'v=DKIM1;' is missing a p= tag"),
    ],
)
def test_a_record_that_does_not_publish_the_key_is_refused_with_the_reason(
    record: str, reason: str
) -> None:
    with pytest.raises(BadRecord, match=reason):
        matching_record([record], PUBLIC)


def test_a_missing_record_is_an_error() -> None:
    with pytest.raises(BadRecord, match="no TXT record"):
        matching_record([], PUBLIC)


def test_two_dkim_records_at_one_name_are_an_error_even_if_one_matches() -> None:
    with pytest.raises(BadRecord, match="several"):
        matching_record([f"v=DKIM1; p={PUBLIC}", f"v=DKIM1; p={OTHER}"], PUBLIC)
