"""The header section of a pre-built message: it goes out as it is, with what must not lack."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import cached_property

from chalicelib.core.addresses import Mailbox, is_address
from chalicelib.mail_format import rfc822
from chalicelib.mail_format.address_list import read_addresses
from chalicelib.mail_format.encoded_words import readable
from chalicelib.mail_format.headers import encode_header
from chalicelib.mail_format.rfc822 import Field


class GivenHeader:
    """Header fields; ``sender`` and ``subject`` are read from them."""

    def __init__(self, fields: list[Field]) -> None:
        self.fields = fields

    @cached_property
    def sender(self) -> Mailbox:
        """Return the From mailbox; raises ``ValueError`` if there is not exactly one."""
        return sender_of(self.fields)

    @cached_property
    def subject(self) -> str:
        """Return the decoded subject, empty if there is none."""
        return "".join(map(readable, _all(self.fields, "subject")[:1]))

    def completed(
        self, message_id: str, at_ms: int, more: Sequence[tuple[str, str]] = ()
    ) -> list[Field]:
        """Return the fields with Date and Message-ID, if they had none.

        ``more`` are headers that take the place of others with their names.
        """
        fields = self.fields
        for name, value in more:
            fields = rfc822.replace(fields, encode_header(name, value))
        if not rfc822.has(fields, "date"):
            moment = datetime.fromtimestamp(at_ms // 1000, UTC)
            fields = rfc822.append(fields, f"Date: {format_datetime(moment)}\r\n".encode())
        if not rfc822.has(fields, "message-id"):
            own = f"{message_id}@{self.sender.domain_in_a_labels}"
            fields = rfc822.append(fields, f"Message-ID: <{own}>\r\n".encode())
        return fields


def from_of(fields: list[Field]) -> str:
    """Return the From as it stands, decoded; it may be a template. Empty if there is none."""
    return ", ".join(map(readable, _all(fields, "from")))


def sender_of(fields: list[Field]) -> Mailbox:
    """Return the From mailbox of header fields; raises ``ValueError`` unless it is the only one.

    A second one could be anybody's, and who reads the message may be shown that.
    """
    found = read_addresses(_all(fields, "from"))
    if len(found) != 1 or not is_address(found[0][1]):
        raise ValueError("the From header does not hold exactly one valid address")
    name, email = found[0]
    return Mailbox(email, readable(name or ""))


def _all(fields: list[Field], name: str) -> list[str]:
    """Return the unfolded values of the fields of a name."""
    return [
        " ".join(raw.partition(b":")[2].decode("utf-8", "replace").split())
        for found, raw in fields
        if found == name
    ]
