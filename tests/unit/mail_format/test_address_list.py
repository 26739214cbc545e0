from __future__ import annotations

import sys
from collections.abc import Iterator
from email import message_from_bytes
from email.policy import default

import pytest

from chalicelib.core.addresses import Mailbox
from chalicelib.mail_format.address_list import (
    address_list_field,
    read_addresses,
    read_mailboxes,
)
from chalicelib.mail_format.headers import Address, HeaderError
from tests.unit.linear_time import assert_linear


def read(field: bytes) -> list[tuple[str, str]]:
    addresses = message_from_bytes(field + b"\r\n", policy=default).values()[0].addresses
    return [(each.display_name, each.addr_spec) for each in addresses]


def test_names_and_addresses_are_read_from_all_lists() -> None:
    assert read_addresses(['"Doe, Jane" <a@b.test>, c@d.test', "E <e@f.test>"]) == [
        Address("Doe, Jane", "a@b.test"),
        Address(None, "c@d.test"),
        Address("E", "e@f.test"),
    ]


@pytest.fixture
def usual_recursion_limit() -> Iterator[None]:
    """Set Python's own limit, which a library of other tests raises for the whole process."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("usual_recursion_limit")
@pytest.mark.parametrize("deep", ["(", ":", "a:", "(" * 9 + ")"])
def test_a_list_nested_without_end_is_one_mailbox_without_an_address(deep: str) -> None:
    assert read_addresses([deep * 5_000 + "a@b.test"]) == [Address(None, "")]
    assert read_mailboxes(deep * 5_000 + "a@b.test") == []
    assert address_list_field("To", deep * 90).startswith(b"To:")
    with pytest.raises(HeaderError, match="no blank or comma"):
        address_list_field("To", deep * 5_000)


@pytest.mark.parametrize(
    ("value", "people"),
    [
        (
            "Zoë <z@e.test>, Bö <b@c.test>",
            [("Zoë", "z@e.test"), ("Bö", "b@c.test")],
        ),
        (
            '"Müller, Zoë" <z@e.test>, b@c.test',
            [("Müller, Zoë", "z@e.test"), ("", "b@c.test")],
        ),
        ("z@bücher.test", [("", "z@xn--bcher-kva.test")]),
    ],
)
def test_names_are_encoded_separately_from_addresses(
    value: str, people: list[tuple[str, str]]
) -> None:
    field = address_list_field("Cc", value)
    assert field.isascii()
    assert read(field) == people


def test_a_value_that_is_not_a_list_is_encoded_as_text() -> None:
    assert address_list_field("To", "undisclosed") == b"To: undisclosed\r\n"


@pytest.mark.parametrize(
    ("value", "mailboxes"),
    [
        ("a@b.test", [Mailbox("a@b.test")]),
        ("  <a@b.test> ", [Mailbox("a@b.test")]),
        ("Doe, Ann <a@b.test>", [Mailbox("a@b.test", "Doe, Ann")]),
        ("a@b.test, C <c@d.test>", [Mailbox("a@b.test"), Mailbox("c@d.test", "C")]),
        ("A <a@b.test>,c@d.test,", [Mailbox("a@b.test", "A"), Mailbox("c@d.test")]),
        ('"D, A" <a@b.test>, c@d.test', [Mailbox("a@b.test", "D, A"), Mailbox("c@d.test")]),
        (
            "=?utf-8?B?Wm/Dqw==?= <z@e.test>, c@d.test",
            [Mailbox("z@e.test", "Zoë"), Mailbox("c@d.test")],
        ),
        ("team: a@b.test, c@d.test;", [Mailbox("a@b.test"), Mailbox("c@d.test")]),
        ("jörg@b.test, ü@bücher.test", [Mailbox("jörg@b.test"), Mailbox("ü@bücher.test")]),
    ],
)
def test_a_list_of_valid_addresses_is_read_whole(value: str, mailboxes: list[Mailbox]) -> None:
    assert read_mailboxes(value) == mailboxes


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            " ",
            "undisclosed",
            "a, b",
            "undisclosed-recipients:;",
            "a@b.test, c",
            "a@b.test c@d.test",
        ),
        *(
            "Ann",
            "a@b",
            "Doe, Ann <a@b.test>, c@d.test",
            "a@b.test,,c@d.test",
            "a@b.test; c@d.test",
        ),
        *("a@b.test\r\nBcc: c@d.test", "a@b.test,\n c@d.test", "a@b.test>", "@b.test"),
        *("A\nB <a@b.test>", "A\r\n <a@b.test>", "=?utf-8?Q?A=0AB?= <a@b.test>, c@d.test"),
    ],
)
def test_a_list_with_anything_but_valid_addresses_is_none(value: str) -> None:
    assert read_mailboxes(value) == []


@pytest.mark.parametrize(
    "piece", ["a@b.test,", "Zoë <z@e.test>,", '"', "<", "(a)", "[", "\\", "=?a?b?c?="]
)
def test_hostile_lists_of_senders_take_linear_time(piece: str) -> None:
    assert_linear(read_mailboxes, piece * 20_000)


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_a_line_end_is_refused_at_every_place(end: str) -> None:
    for value in (f"a@b.test,{end} c@d.test", f"A{end} <a@b.test>", f"a@b.test{end}Bcc: c@d.test"):
        with pytest.raises(HeaderError):
            address_list_field("Cc", value)


@pytest.mark.parametrize("piece", ["a@b.test,", "Zoë <z@e.test>,", '"', "<", "(a)", "[", "\\"])
def test_hostile_lists_take_linear_time(piece: str) -> None:
    assert_linear(lambda field: read_addresses([field]), piece * 20_000)
