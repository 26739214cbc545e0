"""Complete the header of a pre-built message, which otherwise goes out byte for byte.

``override`` replaces fields (spec 2.1); Date and Message-ID are added where they are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import cached_property
from typing import Final

from chalicelib.core.addresses import Mailbox
from chalicelib.core.json_types import Json
from chalicelib.generation import feedback_id as feedback_id_header
from chalicelib.generation import reply_to as reply_to_header
from chalicelib.generation.render import list_id_header, overriding_sender
from chalicelib.mail_format import rfc822
from chalicelib.mail_format.address_list import address_list_field, mailboxes_field
from chalicelib.mail_format.encoded_words import readable
from chalicelib.mail_format.from_field import from_mailbox, values_of
from chalicelib.mail_format.headers import encode_header
from chalicelib.mail_format.rfc822 import Field

#: The field that each key of an override replaces, in lower case
OVERRIDING: Final = {"from": "from", "reply_to": "reply-to", "list_id": "list-id"}


class PrebuiltHeader:
    """Header fields; ``sender`` and ``subject`` are read from them."""

    def __init__(self, fields: list[Field]) -> None:
        self.fields = fields

    @cached_property
    def sender(self) -> Mailbox:
        """Return the From mailbox; raises ``ValueError`` if there is not exactly one."""
        return from_mailbox(self.fields)

    @property
    def reply_name(self) -> str:
        """Return the name in the Reply-To if it has one, else that in the From."""
        return reply_to_header.name_of(", ".join(values_of(self.fields, "reply-to")), self.sender)

    @cached_property
    def subject(self) -> str:
        """Return the decoded subject, empty if there is none."""
        return "".join(map(readable, values_of(self.fields, "subject")[:1]))

    def overridden(self, override: Json, name: Callable[[], str]) -> PrebuiltHeader:
        """Return the header with ``override`` applied; raises :class:`RenderFault`.

        ``name`` returns the name of the From that it may replace.
        """
        fields = self.fields
        if override.get("from"):
            sender = overriding_sender(override["from"], name)
            fields = rfc822.replace_field(fields, mailboxes_field("From", [sender]))
        if override.get("reply_to"):
            fields = rfc822.replace_field(
                fields, address_list_field("Reply-To", override["reply_to"])
            )
        if override.get("list_id"):
            fields = rfc822.replace_field(
                fields, encode_header(*list_id_header(override["list_id"]))
            )
        return self if fields is self.fields else PrebuiltHeader(fields)

    def completed(
        self,
        message_id: str,
        injected_ms: int,
        headers: Sequence[tuple[str, str]] = (),
        feedback_id: bytes = b"",
        reply_to: bytes = b"",
    ) -> list[Field]:
        """Return the fields with Date, Message-ID and ``feedback_id``, if they had none.

        ``headers`` and the field ``reply_to`` replace fields with the same names.
        """
        fields = self.fields
        for name, value in headers:
            fields = rfc822.replace_field(fields, encode_header(name, value))
        if reply_to:
            fields = rfc822.replace_field(fields, reply_to)
        if not rfc822.has(fields, "date"):
            moment = datetime.fromtimestamp(injected_ms // 1000, UTC)
            fields = rfc822.append(fields, f"Date: {format_datetime(moment)}\r\n".encode())
        if not rfc822.has(fields, "message-id"):
            own = f"{message_id}@{self.sender.domain}"
            fields = rfc822.append(fields, f"Message-ID: <{own}>\r\n".encode())
        if feedback_id and not rfc822.has(fields, feedback_id_header.NAME):
            fields = rfc822.append(fields, feedback_id)
        return fields
