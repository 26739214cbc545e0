from base64 import b64encode
from textwrap import wrap

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as generate_ec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateNumbers, RSAPublicNumbers
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from chalicelib.dkim.key_pair import (
    DkimKeyError,
    KeyPair,
    canonical_public,
    check_pair,
    generate_key,
    public_from_private,
)
from tests.unit.key_pairs import OTHER, PAIR
from tests.unit.linear_time import assert_linear

KEY = load_pem_private_key(PAIR.private_pem.encode(), None)
EC = generate_ec(SECP256R1())


def private(encoding: Encoding, form: PrivateFormat, password: bytes | None = None) -> str:
    lock = BestAvailableEncryption(password) if password else NoEncryption()
    return text(KEY.private_bytes(encoding, form, lock))


def public(encoding: Encoding, form: PublicFormat) -> str:
    return text(KEY.public_key().public_bytes(encoding, form))


def text(key: bytes) -> str:
    return key.decode() if key.startswith(b"-----") else b64encode(key).decode()


SHORT = (  # 768 bits, made for this test
    "MIIBygIBAAJhALjRmT/TZoasuHl09XIGZma/4cJAb8yjPx4UbscSHz1qAVLQUC93pWK0tkRKQ8dzfZNTssVkTIRvG2"
    "F9o2k4fHhFO7FoFMIYPtjuvAgFdS2Ghjqr+I0GmeWZZZ6sOp4AWQIDAQABAmAzmrqamrFm6zU7HJAn/Wd8SxmDPrC4"
    "x+AoyvW/eezlHgMul2G8T0ELlX/LA513RGSSi/YIbCKNgmD7elBgabIubNSt3t1nQiwFATW7XhaiNq+RiSIySrnshG"
    "NtBR0yu7ECMQDzspI3AGQxSdThYHF6Yjs7VgngkgKBvJd/y6AavEV9E5xAJsoKIKImn80us4dA7/UCMQDCJhs/qsfG"
    "gboyyb9qffh9O0GApyGuMrrDfBL6tGPv42jHhHjRwpWeLa4vlSyEhFUCMCYZdu6OaxuhlVye/V7K2MPQEb9AVI//8h"
    "eSuDc11A9X74fACLpIm9E6DpQMkUq/uQIwNg40EgLzwoJGHHPtlrHiKMQB1dcy2nSHaXw3MJRfKuBvQPXSSdzamYLw"
    "d5EaJv9NAjEAv6pfKoUkZlbP6aaSaAvRjKbO+pezpt0+W+pTzX6Zqf0S0WuKF+VMZEAF3QBVy7sP"
)
PRIVATES = [
    private(encoding, form)
    for encoding in (Encoding.PEM, Encoding.DER)
    for form in (PrivateFormat.TraditionalOpenSSL, PrivateFormat.PKCS8)
]
PUBLICS = [
    public(encoding, form)
    for encoding in (Encoding.PEM, Encoding.DER)
    for form in (PublicFormat.PKCS1, PublicFormat.SubjectPublicKeyInfo)
]


@pytest.mark.spec("2.5-r1")
@pytest.mark.parametrize("private_key", PRIVATES)
@pytest.mark.parametrize("public_key", PUBLICS)
def test_every_form_of_one_pair_is_accepted(private_key: str, public_key: str) -> None:
    check_pair(private_key, public_key)
    check_pair(f"\n {private_key}\r\n", "\n".join(wrap(public_key, 64)))
    assert public_from_private(private_key) == PAIR.public_b64
    assert canonical_public(public_key) == PAIR.public_b64


@pytest.mark.spec("2.5-r1")
def test_keys_that_do_not_match_are_refused() -> None:
    with pytest.raises(DkimKeyError, match="do not match"):
        check_pair(PAIR.private_pem, OTHER.public_b64)


@pytest.mark.spec("2.5-r1")
@pytest.mark.parametrize(
    "key",
    [
        private(Encoding.PEM, PrivateFormat.PKCS8, b"secret"),
        private(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, b"secret"),
        private(Encoding.DER, PrivateFormat.PKCS8, b"secret"),
    ],
)
def test_a_password_protected_key_is_refused(key: str) -> None:
    with pytest.raises(DkimKeyError, match="password-protected"):
        public_from_private(key)


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("not a key!", "neither PEM nor base64"),
        ("YWJj", "cannot be parsed"),
        ("é", "neither PEM nor base64"),
        ("A" * 20_000, "longer than any"),
        (PAIR.private_pem[:200], "neither PEM nor base64"),
        (PAIR.public_b64, "cannot be parsed"),
        (public(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), "expected, not PUBLIC KEY"),
        (
            text(EC.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())),
            "not an RSA key",
        ),
        (
            text(EC.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())),
            "expected, not EC PRIVATE KEY",
        ),
    ],
)
def test_a_private_key_that_cannot_sign_is_refused_with_the_reason(key: str, why: str) -> None:
    with pytest.raises(DkimKeyError, match=why):
        public_from_private(key)


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("", "is empty"),
        ("v=DKIM1; p=", "neither PEM nor base64"),
        ("YWJj", "cannot be parsed"),
        (PAIR.private_pem, "expected, not PRIVATE KEY"),
        (
            text(EC.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)),
            "not an RSA key",
        ),
    ],
)
def test_a_public_key_that_cannot_verify_is_refused_with_the_reason(key: str, why: str) -> None:
    with pytest.raises(DkimKeyError, match=why):
        check_pair(PAIR.private_pem, key)


def test_a_private_key_with_wrong_numbers_is_refused() -> None:
    numbers = KEY.private_numbers()
    wrong = RSAPrivateNumbers(
        numbers.p,
        numbers.q,
        numbers.d,
        numbers.dmp1 + 2,
        numbers.dmq1,
        numbers.iqmp,
        numbers.public_numbers,
    ).private_key(unsafe_skip_rsa_key_validation=True)
    pem = wrong.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with pytest.raises(DkimKeyError):
        check_pair(pem, PAIR.public_b64)


@pytest.mark.parametrize("bits", [0, 512, 1023, 4097, 1_000_000])
def test_a_length_that_verifiers_need_not_accept_is_refused(bits: int) -> None:
    with pytest.raises(DkimKeyError, match="1024 to 4096 bits"):
        generate_key(bits)


def test_a_short_key_is_refused() -> None:
    with pytest.raises(DkimKeyError, match="768 bits"):
        public_from_private(SHORT)
    short = RSAPublicNumbers(65537, (1 << 767) + 1).public_key()
    der = short.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(DkimKeyError, match="768 bits"):
        canonical_public(b64encode(der).decode())


def test_a_pair_does_not_show_its_private_half() -> None:
    assert "PRIVATE" not in repr(PAIR)
    assert isinstance(PAIR, KeyPair)


@pytest.mark.parametrize(
    "hostile",
    [
        "\n" * 16_000 + "x",
        "-----BEGIN " + "A " * 8_000,
        "-----BEGIN " + "A" * 8_000 + "-----\n-----END " + "A" * 7_900,
        "-----BEGIN PUBLIC KEY-----" + "a" * 16_000,
        "-----BEGIN PUBLIC KEY-----a-----END PUBLIC KEY-----" + " " * 16_000 + "x",
    ],
)
def test_hostile_keys_take_linear_time(hostile: str) -> None:
    def read(key: str) -> None:
        with pytest.raises(DkimKeyError):
            check_pair(PAIR.private_pem, key)

    assert_linear(read, hostile)
