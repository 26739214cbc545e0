"""The header section of a pre-built message: it goes out as it is, with what must not lack."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import cached_property

from chalicelib.core.addresses import Mailbox
from chalicelib.mail_format import rfc822
from chalicelib.mail_format.encoded_words import readable
from chalicelib.mail_format.from_field import from_mailbox, values_of
from chalicelib.mail_format.headers import encode_header
from chalicelib.mail_format.rfc822 import Field


class GivenHeader:
    """Header fields; ``sender`` and ``subject`` are read from them."""

    def __init__(self, fields: list[Field]) -> None:
        self.fields = fields

    @cached_property
    def sender(self) -> Mailbox:
        """Return the From mailbox; raises ``ValueError`` if there is not exactly one."""
        return from_mailbox(self.fields)

    @cached_property
    def subject(self) -> str:
        """Return the decoded subject, empty if there is none."""
        return "".join(map(readable, values_of(self.fields, "subject")[:1]))

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
