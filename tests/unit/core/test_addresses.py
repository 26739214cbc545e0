from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core import domain_names
from chalicelib.core.addresses import (
    Mailbox,
    domain_of,
    is_address,
    is_domain,
    read_mailbox,
)
from tests.unit.linear_time import assert_linear

ATOM = "abcxyzABC019!#$%&'*+-/=?^_`{|}~éж漢"
LABEL = st.from_regex(r"[a-z0-9é]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
DOMAINS = st.lists(LABEL, min_size=2, max_size=4).map(".".join)
LOCALS = st.lists(st.text(ATOM, min_size=1, max_size=8), min_size=1, max_size=3).map(".".join)
HOSTILE = [
    "a@a.a." * 17_000,
    "a" * 100_000 + "@",
    "a." * 50_000 + "@b.c",
    '"' + "\\a" * 50_000 + '"@b.c',
    "a@" + "b-" * 50_000 + ".c",
    "a@" + "b." * 50_000,
    ("x" + " " * 1998 + "y") * 50,
    ("x" + " " * 1997 + "<>") * 50,
    "<" * 100_000,
    " " * 100_000 + "x",
    '"' * 100_000,
    "é" * 100_000,
]


@pytest.mark.parametrize(
    "text",
    [
        "a@b.c",
        "Upper.Case@Example.COM",
        "o'neil+tag@sub.example.test",
        "!#$%&'*+-/=?^_`{|}~@b.c",
        '"a b"@b.c',
        '"a\\"b@c"@b.c',
        '""@b.c',
        "jörg@bücher.example",
        "用户@例子.公司",
        "a@1.2",
        "a@b-c.d",
        "l" * 64 + "@b.c",
        "a@" + "b" * 63 + ".c",
        "a@" + "b." * 125 + "cc",
    ],
)
def test_valid_addresses_are_addresses(text: str) -> None:
    assert is_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@",
        "a",
        "a@b",
        "@b.c",
        "a@.c",
        "a@b.",
        "a@b..c",
        "a@-b.c",
        "a@b-.c",
        "a@b_c.d",
        "a@b.c ",
        " a@b.c",
        "a@b.c\n",
        "a b@c.d",
        "a@b@c.d",
        ".a@b.c",
        "a.@b.c",
        "a..b@c.d",
        "a,b@c.d",
        "<a@b.c>",
        "a@[192.0.2.1]",
        '"a@b.c',
        '"a"b@c.d',
        '"a\nb"@c.d',
        "a\x00@b.c",
        "a\x7f@b.c",
        "a@b.c\r\nBcc: x@y.z",
        "l" * 65 + "@b.c",
        "é" * 33 + "@b.c",
        "a@" + "b" * 64 + ".c",
        "a@" + "b." * 125 + "ccc",
        "\ud800@b.c",
        "a@\udfff.c",
        "a@b.c\ud83d",
    ],
)
def test_anything_else_is_no_address(text: str) -> None:
    assert not is_address(text)


@given(LOCALS, DOMAINS)
def test_a_dot_atom_and_a_domain_make_an_address(local: str, domain: str) -> None:
    assert is_domain(domain)
    assert is_address(f"{local}@{domain}")
    assert domain_of(f"{local}@{domain}") == domain_names.spelling(domain)


@given(st.text(st.characters(), max_size=40) | st.text('a@."<> \\\r\n\ud800é-', max_size=40))
def test_reading_any_text_gives_an_address_or_none(text: str) -> None:
    is_domain(text)
    if is_address(text):
        assert len(text.encode()) <= 254
        assert is_domain(domain_of(text))
        assert read_mailbox(text) == Mailbox(text)
    mailbox = read_mailbox(text)
    assert mailbox is None or is_address(mailbox.email)


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda text: text[:8])
@pytest.mark.parametrize("read", [is_address, is_domain, domain_of, read_mailbox])
@pytest.mark.parametrize("size", [250, 2000, 100_000])
def test_hostile_texts_are_read_in_linear_time(read: Any, hostile: str, size: int) -> None:
    assert_linear(read, hostile[:size])


@pytest.mark.parametrize(
    ("text", "mailbox"),
    [
        ("a@b.c", Mailbox("a@b.c")),
        ("  a@b.c\t", Mailbox("a@b.c")),
        ("<a@b.c>", Mailbox("a@b.c")),
        ("Ann Lee <a@b.c>", Mailbox("a@b.c", "Ann Lee")),
        ("Ann  Lee<a@b.c>", Mailbox("a@b.c", "Ann  Lee")),
        ("Ann < a@b.c > ", Mailbox("a@b.c", "Ann")),
        ('"Lee, Ann" <a@b.c>', Mailbox("a@b.c", "Lee, Ann")),
        ('"a \\"b\\" \\\\ c" <a@b.c>', Mailbox("a@b.c", 'a "b" \\ c')),
        ('"" <a@b.c>', Mailbox("a@b.c", "")),
        ('" <a@b.c>', Mailbox("a@b.c", '"')),
        ("Jörg <j@b.c>", Mailbox("j@b.c", "Jörg")),
        ('"a b"@c.d', Mailbox('"a b"@c.d')),
        ('Ann <"a b"@c.d>', Mailbox('"a b"@c.d', "Ann")),
    ],
)
def test_a_mailbox_is_an_address_with_or_without_a_name(text: str, mailbox: Mailbox) -> None:
    assert read_mailbox(text) == mailbox


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<>",
        "Ann",
        "Ann <>",
        "Ann <a@b.c",
        "Ann a@b.c>",
        "Ann <a@b.c> Lee",
        "Ann <Lee <a@b.c>",
        "Ann <a@b.c>>",
        "<a@b.c> <d@e.f>",
        "a@b.c, d@e.f",
        "a@b.c d@e.f",
        "Ann <a @b.c>",
        "n" * 2001 + " <a@b.c>",
    ],
)
def test_anything_else_is_no_mailbox(text: str) -> None:
    assert read_mailbox(text) is None


def test_the_domain_of_a_mailbox_is_in_lower_case() -> None:
    assert Mailbox("A@Example.TEST").domain == "example.test"
