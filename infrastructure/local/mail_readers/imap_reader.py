"""Read IMAP commands with their literals from a connection, within limits.

Literals are announced by their length. A client waits for our consent before it sends one, unless
it announces it with `+` (RFC 7888).
"""

from __future__ import annotations

import re

from infrastructure.local.mail_readers.connection import ClientGone, Connection, LineTooLong
from infrastructure.local.mail_readers.imap_syntax import BadCommand

_MOST_LINE = 64 * 1024
#: Octets of a command with its literals
_MOST_COMMAND = 128 * 1024
#: Octets of a message that a client uploads, which is dropped
_MOST_DROPPED = 64 * 1024 * 1024
_ANNOUNCEMENT = re.compile(rb"\{([0-9]{1,9})(\+?)\}\Z")
_COMMAND = re.compile(rb'[^\x00-\x20\x7f-\xff(){%*"\\+]{1,100} [A-Za-z]{1,20}')


class Command:
    """A command: its tag, its name in upper case, and its arguments."""

    def __init__(self, text: bytes) -> None:
        """Divide a text."""
        tag, _, rest = text.partition(b" ")
        word, _, arguments = rest.partition(b" ")
        name = word.decode("latin-1").upper()
        if name == "UID":
            word, _, arguments = arguments.partition(b" ")
            name = "UID " + word.decode("latin-1").upper()
        self.tag = tag.decode("ascii", "replace")
        self.name = name
        self.arguments = arguments


async def read_command(connection: Connection) -> Command:
    """Return the next command.

    Raises BadCommand for one that is too long or has no tag, after which the next one can be read.
    """
    text = bytearray()
    while True:
        try:
            line = await connection.line(_MOST_LINE)
        except LineTooLong:
            raise BadCommand("the line is too long") from None
        text += line
        announcement = _ANNOUNCEMENT.search(line)
        if announcement is None:
            break
        if _is_append(text):
            # The tag is enough to refuse it
            await _drop(connection, announcement)
            break
        if len(text) + int(announcement[1]) > _MOST_COMMAND:
            await _drop(connection, announcement)
            raise BadCommand("the literal is too long")
        if not announcement[2]:
            connection.write(b"+ go on\r\n")
        text += b"\r\n" + await connection.octets(int(announcement[1]))
    if not _COMMAND.match(text):
        raise BadCommand("a command has a tag and a name")
    return Command(bytes(text))


def _is_append(text: bytes | bytearray) -> bool:
    words = text[:200].upper().split(b" ", 2)
    return len(words) > 1 and words[1] == b"APPEND"


async def _drop(connection: Connection, announcement: re.Match[bytes] | None) -> None:
    """Drop literals that come anyway, and what follows each in its line."""
    while announcement and announcement[2]:
        if int(announcement[1]) > _MOST_DROPPED:
            raise ClientGone
        await connection.skip(int(announcement[1]))
        try:
            announcement = _ANNOUNCEMENT.search(await connection.line(_MOST_LINE))
        except LineTooLong:
            raise ClientGone from None
