"""The judge is the standard library's parser: it must read the same value as before."""

from __future__ import annotations

from email import message_from_bytes
from email.policy import default
from typing import Any

import pytest

from chalicelib.mail_format.header_section import MessageError
from chalicelib.mail_format.seven_bit_fields import seven_bit_field
from chalicelib.mail_format.transfer_encoding import is_seven_bit

LONG = "x" * 1000


def converted(field: str | bytes) -> bytes:
    raw = (field.encode() if isinstance(field, str) else field) + b"\r\n"
    name = raw.partition(b":")[0].decode().lower()
    new_name, new = seven_bit_field((name, raw))
    assert new_name == name
    return new


def read(raw: bytes) -> Any:
    return message_from_bytes(raw + b"\r\n", policy=default).values()[0]


@pytest.mark.parametrize(
    "field", ["Subject: a\r\n  b ", "X-A:  \tb\x01", f"References: <{'x' * 900}>", "To: <<<"]
)
def test_a_field_that_every_host_takes_keeps_its_bytes(field: str) -> None:
    assert converted(field) == field.encode() + b"\r\n"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (f"Subject: {'word ' * 300}x", "word " * 300 + "x"),
        (f"Subject: {LONG}", LONG),
        (f"X-Link: https://x.test/{LONG}?a=?b", f"https://x.test/{LONG}?a=?b"),
        ("Subject: Grüße =?utf-8?B?w6k=?= x", "Grüße é x"),
        (f"Subject: =?utf-8?B?w6k=?= {'word ' * 300}x", "é " + "word " * 300 + "x"),
        (b"Subject: Gr\xfc\xdfe", "Grüße"),
        ("Content-Description: Größe", "Größe"),
    ],
)
def test_text_keeps_its_words(field: str | bytes, value: str) -> None:
    new = converted(field)
    assert is_seven_bit(new)
    assert read(new) == value


@pytest.mark.parametrize(
    ("field", "mailboxes"),
    [
        (
            'To: "Müller, Zoë" <z@x.test>, b@bücher.test',
            ["Müller, Zoë <z@x.test>", "b@xn--bcher-kva.test"],
        ),
        (
            "Cc: =?utf-8?Q?M=2C_Z?= <z@x.test>, Zoë <y@x.test>",
            ["M, Z <z@x.test>", "Zoë <y@x.test>"],
        ),
        (
            "To: " + ",".join(f"a{n}@x.test" for n in range(100)),
            [f"a{n}@x.test" for n in range(100)],
        ),
        ("Resent-From: Zoë <z@x.test>", ["Zoë <z@x.test>"]),
    ],
)
def test_addresses_stay_addresses(field: str, mailboxes: list[str]) -> None:
    new = converted(field)
    assert is_seven_bit(new)
    addresses = read(new).addresses
    names = [(each.display_name, each.addr_spec) for each in addresses]
    assert [f"{name} <{address}>" if name else address for name, address in names] == mailboxes


def test_a_local_part_beyond_ascii_stays_utf_8() -> None:
    new = converted("From: Jörg <jörg@bücher.test>")
    assert new == "From: =?utf-8?B?SsO2cmc=?= <jörg@xn--bcher-kva.test>\r\n".encode()
    assert converted(new.removesuffix(b"\r\n")) == new


@pytest.mark.parametrize("separator", ["", " ", "\r\n "])
def test_a_structured_field_is_folded_between_its_items(separator: str) -> None:
    urls = [f"<https://x.test/{letter * 400},{letter}>" for letter in "abc"]
    value = f",{separator}".join(urls)
    new = converted(f"List-Unsubscribe: {value}, <mailto:{'m' * 300}@x.test>")
    assert is_seven_bit(new)
    assert b"=?" not in new
    for url in urls:
        assert url.encode() in new
    ids = converted("References: " + "".join(f"<{n * 300}@x.test>" for n in "abcdef"))
    assert is_seven_bit(ids)
    assert ids.count(b"@x.test>") == 6


@pytest.mark.parametrize(
    "field",
    [
        f"References: <{LONG}@x.test>",
        f"Message-ID: <{LONG}@x.test>",
        f"List-Unsubscribe: <https://x.test/{LONG}>",
        f"List-Id: <{LONG}.x.test>",
        f"To: {LONG}@x.test",
        f'Content-Type: text/plain; name="{LONG}"',
        f"{LONG}: x",
    ],
)
def test_an_item_longer_than_a_line_is_refused(field: str) -> None:
    with pytest.raises(MessageError, match="header"):
        converted(field)


@pytest.mark.parametrize(
    ("field", "parameters"),
    [
        (
            'Content-Disposition: attachment; filename="Übersicht, neu.pdf"; size=3',
            {"filename": "Übersicht, neu.pdf", "size": "3"},
        ),
        ("Content-Disposition: attachment; filename=Ü x.pdf", {"filename": "Ü x.pdf"}),
        (b'Content-Type: application/pdf; name="\xdc.pdf"', {"name": "Ü.pdf"}),
        ("Content-Type: text/plain; " + "; ".join(f"p{n}={'x' * 90}" for n in range(20)), None),
    ],
)
def test_parameters_keep_their_values(
    field: str | bytes, parameters: dict[str, str] | None
) -> None:
    new = converted(field)
    assert is_seven_bit(new)
    expected = parameters or {f"p{n}": "x" * 90 for n in range(20)}
    assert dict(read(new).params) == expected
