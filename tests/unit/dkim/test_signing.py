"""dkimpy must verify every message that we sign, and none that was changed afterwards."""

import re
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from time import time

import dkim as dkimpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.dkim import signing
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.key_pair import DkimKeyError, generate_key
from chalicelib.dkim.signing import DkimError, Signer, load_signer
from chalicelib.mail_format.headers import Address, encode_addresses, encode_header
from chalicelib.mail_format.mime import build_message
from tests.unit.dkim.examples import BODIES
from tests.unit.key_pairs import PAIR
from tests.unit.linear_time import assert_linear
from tests.unit.mail_format.examples import BODY, ONE_LINE, examples

SIGNER = Signer(PAIR.private_pem, "sel", "example.test")
NOW = int(time())
MESSAGE = b"From: a@example.test\r\nSubject: x\r\n\r\nbody\r\n"

NAMES = st.sampled_from(
    [b"From", b"TO", b"Subject", b"subject", b"Date", b"X-Other", b"Reply-To", b"List-Unsubscribe"]
)
# Without VT and FF: dkimpy strips them from the ends of a value, RFC 6376 3.4.2 does not.
VALUES = st.lists(
    st.sampled_from(
        [b"a", b"word", b" ", b"  ", b"\t", b"\r\n ", b"\r\n\t", b"\xc3\xa9", b"\xff", b":", b";"]
    )
    | st.binary(min_size=1, max_size=3).filter(lambda text: not set(b"\r\n\v\f") & set(text)),
    max_size=15,
).map(b"".join)
FIELDS = st.lists(st.tuples(NAMES, VALUES), max_size=10)


def verifies(message: bytes, record: str | None = None) -> bool:
    """Verify with dkimpy; the message ends with a line end, as it does in SMTP."""
    if not message.endswith(b"\r\n"):
        message += b"\r\n"
    txt = (record or txt_record(PAIR.public_b64)).encode()
    return bool(dkimpy.verify(message, dnsfunc=lambda *_, **__: txt))


def tags(signature: bytes) -> dict[str, str]:
    text = re.sub(r"\s", "", signature.decode().partition(":")[2])
    return dict(tag.split("=", 1) for tag in text.split(";"))


@examples(300)
@given(FIELDS, VALUES, FIELDS, BODIES)
def test_dkimpy_verifies_every_signed_message(
    before: list[tuple[bytes, bytes]],
    sender: bytes,
    after: list[tuple[bytes, bytes]],
    body: bytes,
) -> None:
    fields = [*before, (b"From", sender), *after]
    message = b"".join(b"%s:%s\r\n" % field for field in fields) + b"\r\n" + body
    assert verifies(SIGNER.sign(message, NOW) + message)


@examples(100)
@given(ONE_LINE, ONE_LINE, BODY, BODY)
def test_dkimpy_verifies_every_message_the_service_builds(
    name: str, subject: str, text: str, html: str
) -> None:
    headers = [
        encode_addresses("From", [Address(name, "a@example.test")]),
        encode_header("Subject", subject),
    ]
    message = build_message(headers, text=text, html=html, boundary_seed="1")
    assert verifies(SIGNER.sign(message.data, NOW) + message.data)


def test_a_relaxed_body_of_the_caller_is_signed_as_it_is() -> None:
    message = build_message(
        [b"From: a@example.test\r\n"], text=["  é\n\t ", "x", "  y\n\n"], boundary_seed="1"
    )
    assert message.relaxed_body
    signature = SIGNER.sign(message.data, NOW, message.relaxed_body)
    assert signature == SIGNER.sign(message.data, NOW)
    assert signature != SIGNER.sign(message.data, NOW, b"another\r\n")


@pytest.mark.parametrize(
    "body", [b"", b"\r\n", b"\r\n\r\n\r\n", b"   ", b" \t\r\n \r\n", b"\r\n" * 5000]
)
def test_a_body_of_blanks_is_hashed_as_empty(body: bytes) -> None:
    signature = SIGNER.sign(b"From: a@example.test\r\n\r\n" + body, NOW)
    assert tags(signature)["bh"] == b64encode(sha256(b"").digest()).decode()


@pytest.mark.parametrize("body", [b"x", b"x\r\n", b"x  \r\n", b"x\t", b"x\r\n\r\n \r\n"])
def test_blanks_and_line_ends_at_the_end_do_not_change_the_body_hash(body: bytes) -> None:
    signature = SIGNER.sign(b"From: a@example.test\r\n\r\n" + body, NOW)
    assert tags(signature)["bh"] == b64encode(sha256(b"x\r\n").digest()).decode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"body", b"Body"),
        (b"Subject: x", b"Subject: y"),
        (b"Subject: x", b"From: evil@example.test\r\nSubject: x"),
        (b"From: a", b"From: evil@example.test\r\nFrom: a"),
    ],
)
def test_a_changed_message_does_not_verify(old: bytes, new: bytes) -> None:
    signed = SIGNER.sign(MESSAGE, NOW) + MESSAGE
    assert verifies(signed)
    assert not verifies(signed.replace(old, new, 1))


def test_from_is_listed_once_more_than_it_occurs() -> None:
    assert tags(SIGNER.sign(MESSAGE, NOW))["h"] == "from:from:subject"


def test_headers_of_one_name_are_all_signed_from_the_bottom_up() -> None:
    message = b"Subject: 1\r\n" + MESSAGE
    assert tags(SIGNER.sign(message, NOW))["h"] == "from:from:subject:subject"
    signed = SIGNER.sign(message, NOW) + message
    assert verifies(signed)
    assert not verifies(signed.replace(b"Subject: 1", b"Subject: 2"))


def test_the_configured_headers_come_first_and_the_default_ones_follow() -> None:
    signer = Signer(PAIR.private_pem, "s", "example.test", ["X-Mine", "subject", "missing"])
    message = (
        b"X-Mine: 1\r\nX-Other: 2\r\nMIME-Version: 1.0\r\nList-Unsubscribe: <https://u.test>\r\n"
        b"List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n" + MESSAGE
    )
    assert tags(signer.sign(message, NOW))["h"] == (
        "x-mine:subject:from:from:mime-version"
        ":list-unsubscribe:list-unsubscribe:list-unsubscribe-post:list-unsubscribe-post"
    )


def test_the_signature_has_all_tags_in_order_and_is_folded() -> None:
    signature = Signer(PAIR.private_pem, "sel", "example.test").sign(MESSAGE, 1_700_000_000)
    assert signature.startswith(b"DKIM-Signature: v=1; ")
    assert signature.endswith(b"\r\n")
    pairs = tags(signature)
    assert list(pairs) == ["v", "a", "c", "d", "s", "h", "t", "bh", "b"]
    assert (pairs["a"], pairs["c"]) == ("rsa-sha256", "relaxed/relaxed")
    assert (pairs["d"], pairs["s"], pairs["t"]) == ("example.test", "sel", "1700000000")
    assert all(len(line) <= 78 for line in signature.split(b"\r\n"))


def test_a_long_list_of_headers_is_folded() -> None:
    names = [f"x-header-number-{n}" for n in range(60)]
    message = b"".join(f"{name}: v\r\n".encode() for name in names) + MESSAGE
    signature = Signer(PAIR.private_pem, "sel", "example.test", names).sign(message, NOW)
    assert all(len(line) <= 78 for line in signature.split(b"\r\n"))
    assert tags(signature)["h"].split(":")[:60] == names
    assert verifies(signature + message)


def test_a_message_without_from_is_refused() -> None:
    for message in (b"Subject: x\r\n\r\nFrom: a@example.test", b"\r\nFrom: a\r\n\r\nx", b""):
        with pytest.raises(DkimError, match="without a From"):
            SIGNER.sign(message, NOW)


def test_a_message_without_body_or_blank_line_is_signed() -> None:
    for message in (b"From: a@example.test\r\n", b"From: a@example.test\r\n\r\n"):
        assert verifies(SIGNER.sign(message, NOW) + message)


@pytest.mark.parametrize("bits", [1024, 2048, 4096])
@pytest.mark.spec("8-t9")
def test_every_accepted_key_length_signs(bits: int) -> None:
    pair = generate_key(bits)
    signature = Signer(pair.private_pem, "sel", "example.test").sign(MESSAGE, NOW)
    assert verifies(signature + MESSAGE, txt_record(pair.public_b64))


@pytest.mark.parametrize(
    "value", ["", "a b", "a;b", "a\r\nb", "a..b", "bücher.test", "x" * 254, "-a"]
)
def test_a_domain_or_selector_that_could_break_the_signature_is_refused(value: str) -> None:
    with pytest.raises(DkimError):
        Signer(PAIR.private_pem, value, "example.test")
    with pytest.raises(DkimError):
        Signer(PAIR.private_pem, "sel", value)


@pytest.mark.parametrize("name", ["", "a;b", "a b", "a:b", "é", "a\r\n"])
def test_a_header_name_that_cannot_be_signed_is_refused(name: str) -> None:
    with pytest.raises(DkimError):
        Signer(PAIR.private_pem, "sel", "example.test", ["from", f"x{name}y" if name else name])


def test_a_key_that_cannot_sign_is_refused() -> None:
    with pytest.raises(DkimKeyError):
        Signer(PAIR.public_b64, "sel", "example.test")


def test_a_signer_is_cached_by_its_arguments() -> None:
    one = load_signer(PAIR.private_pem, "sel", "example.test", ("from",))
    assert load_signer(PAIR.private_pem, "sel", "example.test", ["from"]) is one
    assert load_signer(PAIR.private_pem, "other", "example.test", ("from",)) is not one


def test_the_least_recently_used_signer_leaves_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing, "_CACHED_SIGNERS", 2)
    monkeypatch.setattr(signing, "_signers", signing._signers.__class__())
    first, second, _ = (load_signer(PAIR.private_pem, s, "example.test") for s in "aba")
    load_signer(PAIR.private_pem, "c", "example.test")
    assert load_signer(PAIR.private_pem, "a", "example.test") is first
    assert load_signer(PAIR.private_pem, "b", "example.test") is not second


def test_one_signer_may_be_used_by_many_threads() -> None:
    messages = [b"From: a\r\nX-%d: 1\r\n\r\n%d\r\n" % (n % 7, n) for n in range(200)]
    with ThreadPoolExecutor(4) as pool:
        signatures = list(pool.map(lambda message: SIGNER.sign(message, NOW), messages))
    assert signatures == [SIGNER.sign(message, NOW) for message in messages]


@pytest.mark.parametrize(
    "body",
    [
        b" " * 1_000_000,
        b" " * 1_000_000 + b"x",
        b" \t" * 500_000 + b"x",
        b"\r\n" * 500_000,
        b" \r\n" * 300_000 + b"x",
        b"x \r\n" * 250_000,
        b"x  " * 300_000,
    ],
)
def test_hostile_bodies_take_linear_time(body: bytes) -> None:
    assert_linear(lambda body: SIGNER.sign(b"From: a\r\n\r\n" + body, NOW), body)


@pytest.mark.parametrize(
    "head",
    [
        b"Subject:" + b" " * 1_000_000,
        b"Subject: x" + b"\r\n " * 300_000,
        b"To: a\r\n" * 100_000,
        b":" * 1_000_000,
    ],
)
def test_hostile_headers_take_linear_time(head: bytes) -> None:
    def sign(head: bytes) -> None:
        SIGNER.sign(b"From: a\r\n" + head.removesuffix(b"\r\n") + b"\r\n\r\nx", NOW)

    assert_linear(sign, head)
