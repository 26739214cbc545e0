"""An SMTP message is sent to further addresses that its API header names."""

from __future__ import annotations

import email
import email.policy
from typing import Any

import pytest

from chalicelib.core.addresses import Mailbox
from chalicelib.mail_format import rfc822
from chalicelib.transmissions.copies import (
    Copies,
    of_copy,
    recipients,
    with_visible_copies,
)

FIRST = {"index": 0, "email": "to@x.test"}


def fields_of(*headers: str) -> list[rfc822.Field]:
    return rfc822.split("".join(f"{header}\r\n" for header in headers).encode() + b"\r\n")[0]


def cc_of(header: str, *cc: Mailbox) -> Any:
    """Return the Cc header as another reader understands it."""
    fields = fields_of("From: a@x.test", *([header] if header else []), "Subject: s")
    raw = rfc822.join(with_visible_copies(fields, cc), b"body")
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert message["Subject"] == "s"
    assert message.get_content() == "body"
    (values,) = message.get_all("Cc")
    return [(each.display_name, each.addr_spec) for each in values.addresses]


def test_an_address_gets_one_copy_of_its_first_kind() -> None:
    everyone = [Mailbox(f"{name}@x.test") for name in ("to", "c", "b", "z")]
    recipient_dicts = recipients(
        ["to@x.test"], Copies(cc=everyone[:2], bcc=everyone[:3], archive=everyone), ()
    )
    assert recipient_dicts == [
        {"email": "to@x.test"},
        {"email": "c@x.test", "rcpt_type": "cc"},
        {"email": "b@x.test", "rcpt_type": "bcc"},
        {"email": "z@x.test", "rcpt_type": "archive", "tracked_as": FIRST},
    ]


def test_addresses_are_compared_without_case() -> None:
    copies = Copies(cc=[Mailbox("C@X.test", "See"), Mailbox("c@x.TEST", "Sea")])
    recipient_dicts = recipients(["to@x.test", "TO@X.TEST"], copies, ["t"])
    assert recipient_dicts == [
        {"email": "to@x.test", "tags": ["t"]},
        {"email": "C@X.test", "name": "See", "rcpt_type": "cc", "tags": ["t"]},
    ]


@pytest.mark.parametrize("header", ["", "Cc:", "Cc: ", "cc: ,"])
def test_a_missing_cc_header_is_added(header: str) -> None:
    addresses = cc_of(header, Mailbox("c@x.test", "Zoë, the cook"), Mailbox("d@x.test"))
    assert addresses == [("Zoë, the cook", "c@x.test"), ("", "d@x.test")]


@pytest.mark.parametrize(
    "header",
    [
        'Cc: "Ann, the first" <Ann@x.test>',
        'CC: "Ann, the first"\r\n <Ann@x.test>,',
    ],
)
def test_the_cc_header_keeps_the_addresses_that_the_client_wrote(header: str) -> None:
    addresses = cc_of(header, Mailbox("ann@X.test", "Another name"), Mailbox("c@x.test", "Zoë"))
    assert addresses == [("Ann, the first", "Ann@x.test"), ("Zoë", "c@x.test")]


def test_a_cc_header_that_shows_everyone_is_not_changed() -> None:
    fields = fields_of("From: a@x.test", "Cc: Cee <c@x.test>", "Subject: s")
    assert with_visible_copies(fields, [Mailbox("C@x.test")]) == fields
    assert with_visible_copies(fields, []) == fields


def test_only_a_bcc_copy_has_a_bcc_header() -> None:
    fields = fields_of("From: a@x.test", "Bcc: secret@x.test", "Subject: s", "bcc: another@x.test")
    shared = fields_of("From: a@x.test", "Subject: s")
    for kind in ({}, {"rcpt_type": "cc"}, {"rcpt_type": "archive"}):
        assert of_copy(fields, {"email": "b@x.test", **kind}) == shared
    own = of_copy(fields, {"email": "b@x.test", "name": "Bee", "rcpt_type": "bcc"})
    assert own == [*shared, ("bcc", b"Bcc: Bee <b@x.test>\r\n")]


@pytest.mark.parametrize("name", ["Return-Path", "RETURN-PATH", "Resent-Bcc"])
def test_no_copy_has_a_field_that_no_message_leaves_with(name: str) -> None:
    fields = fields_of(f"{name}: <b@x.test>", "From: a@x.test")
    assert of_copy(fields, {"email": "b@x.test"}) == fields_of("From: a@x.test")


def test_a_name_that_breaks_a_header_is_refused() -> None:
    with pytest.raises(ValueError, match="one line"):
        with_visible_copies(fields_of("From: a@x.test"), [Mailbox("c@x.test", "a\nb")])


def test_a_copy_is_added_to_an_unreadable_cc_header() -> None:
    fields = fields_of("Cc: " + "(" * 5_000)
    ((_, raw),) = with_visible_copies(fields, [Mailbox("c@x.test")])
    assert raw.endswith(b"c@x.test\r\n")


@pytest.mark.parametrize("email", ["z@BÜCHER.test", "z@bu\u0308cher.test", "z@xn--bcher-kva.test"])
def test_a_mailbox_gets_one_copy_however_its_domain_is_spelled(email: str) -> None:
    copies = Copies(cc=[Mailbox("z@bücher.test")], bcc=[Mailbox(email)], archive=[Mailbox(email)])
    recipient_dicts = recipients(["to@x.test"], copies, ())
    assert [each["email"] for each in recipient_dicts] == ["to@x.test", "z@bücher.test"]
    assert len(cc_of("Cc: z@xn--bcher-kva.test", Mailbox(email), Mailbox("c@x.test"))) == 2


def test_copies_are_named_in_a_labels() -> None:
    assert cc_of("", Mailbox("c@bücher.test")) == [("", "c@xn--bcher-kva.test")]
