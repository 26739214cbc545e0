"""Write what clients of IMAP are told of the mailbox that they have selected."""

from __future__ import annotations

from infrastructure.local.mail_readers import flags
from infrastructure.local.mail_readers.connection import Connection
from infrastructure.local.mail_readers.desk import ReadingDesk
from infrastructure.local.mail_readers.imap_selection import Changes, Selection

#: The code of RFC 5530 for what no change of circumstances makes possible
CANNOT = "CANNOT"


class No(Exception):
    """The command cannot be done; the text is for the client, with a code of RFC 5530."""

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(f"[{code}] {text}" if code else text)


def write_selected(connection: Connection, desk: ReadingDesk, selection: Selection) -> None:
    """Write what a client must know of a mailbox (RFC 3501 6.3.1); it asks the index."""
    permanent = "" if selection.is_read_only else flags.NAMES
    lines = [
        f"* FLAGS ({flags.NAMES})",
        f"* {len(selection)} EXISTS",
        "* 0 RECENT",
        f"* OK [PERMANENTFLAGS ({permanent})] limited",
        f"* OK [UIDVALIDITY {desk.numbers.validity()}] valid",
        f"* OK [UIDNEXT {desk.numbers.next_uid()}] next",
    ]
    if first_unseen := selection.first_unseen:
        lines.append(f"* OK [UNSEEN {first_unseen}] first unseen")
    connection.write("".join(line + "\r\n" for line in lines).encode())


async def write_changes(connection: Connection, selection: Selection, changes: Changes) -> None:
    """Write what changed."""
    for position in changes.expunged:
        connection.write(b"* %d EXPUNGE\r\n" % position)
        await connection.flush_much()
    if changes.has_more:
        connection.write(b"* %d EXISTS\r\n* 0 RECENT\r\n" % len(selection))
    for position in changes.reflagged:
        connection.write(flags_of(selection, position))
        await connection.flush_much()


def flags_of(selection: Selection, position: int, *, has_uid: bool = True) -> bytes:
    """Return the response that tells the flags of a message."""
    text = flags.text(selection.bits[position - 1])
    uid = f"UID {selection.uids[position - 1]} " if has_uid else ""
    return f"* {position} FETCH ({uid}FLAGS {text})\r\n".encode()
