"""Find the message, or the part of one, that a path below ``/local/mailbox`` names.

Each function raises :class:`NoSuchThing` if there is none.
"""

from __future__ import annotations

from infrastructure.local.gateway.local_api import LocalRequest, NoSuchThing
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.rows import Row
from infrastructure.local.messages.parts import MessagePart, StoredMessage

PREFIX = "/local/mailbox"
#: The path of one message
MESSAGE = f"{PREFIX}/{{id}}"
PART = f"{MESSAGE}/parts/{{part}}"


def source_of(mailbox: SinkMailbox, request: LocalRequest) -> bytes:
    """Return a message as it was stored."""
    source = mailbox.read(request.parameters["id"])
    if source is None:
        raise NoSuchThing
    return source


def message_of(mailbox: SinkMailbox, request: LocalRequest) -> StoredMessage:
    """Return a message with its parts."""
    return StoredMessage(source_of(mailbox, request))


def row_of(mailbox: SinkMailbox, request: LocalRequest) -> Row:
    """Return what the index has of a message."""
    row = mailbox.index.row(request.parameters["id"])
    if row is None:
        raise NoSuchThing
    return row


def part_of(message: StoredMessage, request: LocalRequest) -> MessagePart:
    """Return the part whose number the path has."""
    text = request.parameters["part"]
    is_number = text.isascii() and text.isdigit() and len(text) < 10
    part = message.part(int(text)) if is_number else None
    if part is None:
        raise NoSuchThing
    return part
