from __future__ import annotations

import sys
from collections.abc import Iterator
from email import message_from_bytes
from email.policy import default

import pytest

from chalicelib.mail_format.address_list import address_list_field, read_addresses
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
    assert address_list_field("To", deep * 5_000).startswith(b"To:")


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


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_a_line_end_is_refused_at_every_place(end: str) -> None:
    for value in (f"a@b.test,{end} c@d.test", f"A{end} <a@b.test>", f"a@b.test{end}Bcc: c@d.test"):
        with pytest.raises(HeaderError):
            address_list_field("Cc", value)


@pytest.mark.parametrize("piece", ["a@b.test,", "Zoë <z@e.test>,", '"', "<", "(a)", "[", "\\"])
def test_hostile_lists_take_linear_time(piece: str) -> None:
    assert_linear(lambda field: read_addresses([field]), piece * 20_000)
