"""Keep the mail that the sink accepted as a Maildir, listed by an index.

Layout under the root: `tmp`, `new` and `cur` as any mail reader expects (a message is written in
`tmp` and renamed into `new`), and `index.sqlite3`. A message is stored under a Return-Path and a
Delivered-To field, as in any final delivery (RFC 5321 4.4). From these fields a rebuilt index
learns the envelope. One process adds messages; others may list, read and clear at the same time.
"""

import os
import re
import threading
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parseaddr
from pathlib import Path
from typing import TypedDict

from chalicelib.mail_format.encoded_words import readable
from infrastructure.local.sink.header_fields import field, header_block
from infrastructure.local.sink.mailbox_index import MailboxIndex, Row

Entry = TypedDict(
    "Entry",
    {"id": str, "from": str, "to": str, "subject": str, "received_at": str, "size": int},
)
Entries = list[Entry]

# Seconds, microseconds and process of arrival: safe in a URL, unique, and in order of arrival.
_ID = re.compile(r"(\d{10})\.M(\d{6})P\d{1,10}\.postfinch", re.ASCII)


class Mailbox:
    """Messages by id. Ids are stable, need no quoting in a URL, and sort by time of arrival."""

    def __init__(self, root: Path) -> None:
        """Open the mailbox at `root`, making it or mending its index where needed."""
        self._root = root
        self._lock = threading.Lock()
        self._newest = 0
        for folder in ("tmp", "new", "cur"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        self._index = MailboxIndex(root / "index.sqlite3", self._stored_ids, self._summarise)

    def add(self, sender: str, recipient: str, message: bytes) -> str:
        """Store a message for one envelope recipient; it can be found once this returns its id.

        `sender` is the envelope's ("" for the null return path). Raises ValueError when an
        address could break out of its header field, OSError or sqlite3.Error when storing fails.
        """
        message_id = self._next_id()
        trace = _trace(sender, recipient)
        fresh = self._root / "tmp" / message_id
        with fresh.open("xb") as file:
            file.write(trace)
            file.write(message)
        fresh.rename(self._root / "new" / message_id)
        size = len(trace) + len(message)
        self._index.insert(_row(message_id, sender, recipient, message, size))
        return message_id

    def list(
        self,
        to: str | None = None,
        sender: str | None = None,
        subject: str | None = None,
        limit: int = 100,
    ) -> Entries:
        """The newest messages first, at most `limit`, that match each filter, in any case.

        `to` is the whole envelope recipient, in which `*` stands for any characters. `sender` is
        a part of the From field or of the envelope sender, `subject` one of the decoded Subject.
        `size` counts the bytes that `read` gives.
        """
        return [_entry(row) for row in self._index.search(to, sender or "", subject or "", limit)]

    def read(self, message_id: str) -> bytes | None:
        """The message as stored, trace fields first; None when there is no such id."""
        path = self._path(message_id)
        try:
            return path.read_bytes() if path else None
        except FileNotFoundError:
            return None

    def clear(self) -> int:
        """Delete every message; the number deleted."""
        message_ids = self._index.take_all()
        for message_id in message_ids:
            if path := self._path(message_id):
                path.unlink(missing_ok=True)
        return len(message_ids)

    def close(self) -> None:
        """Close the index; the mailbox cannot be used afterwards."""
        self._index.close()

    def _next_id(self) -> str:
        with self._lock:
            self._newest = max(self._newest + 1, time.time_ns() // 1000)
            seconds, micros = divmod(self._newest, 1_000_000)
        return f"{seconds:010d}.M{micros:06d}P{os.getpid()}.postfinch"

    def _path(self, message_id: str) -> Path | None:
        if not _ID.fullmatch(message_id):
            return None
        new = self._root / "new" / message_id
        if new.exists():
            return new
        # A mail reader moves what it has seen to `cur` and appends its flags to the name.
        return next((self._root / "cur").glob(f"{message_id}*"), None)

    def _stored_ids(self) -> Iterable[str]:
        for folder in ("new", "cur"):
            for name in os.listdir(self._root / folder):
                message_id = name.partition(":")[0]
                if _ID.fullmatch(message_id):
                    yield message_id

    def _summarise(self, message_id: str) -> Row | None:
        message = self.read(message_id)
        if message is None:
            return None
        headers = header_block(message)
        sender = field(headers, "Return-Path").strip("<>")
        return _row(message_id, sender, field(headers, "Delivered-To"), message, len(message))


def _trace(sender: str, recipient: str) -> bytes:
    if re.search(r"[\r\n\0]", sender + recipient):
        raise ValueError("an envelope address holds a line break or a NUL")
    return f"Return-Path: <{sender}>\r\nDelivered-To: {recipient}\r\n".encode()


def _row(message_id: str, sender: str, recipient: str, message: bytes, size: int) -> Row:
    headers = header_block(message)
    author, subject = field(headers, "From"), readable(field(headers, "Subject"))
    return Row(
        id=message_id,
        recipient=recipient,
        author=parseaddr(author)[1] or sender,
        subject=subject,
        size=size,
        recipients=recipient.casefold(),
        senders=f"{readable(author)}\n{sender}".casefold(),
        subjects=subject.casefold(),
    )


def _entry(row: Row) -> Entry:
    return {
        "id": row.id,
        "from": row.author,
        "to": row.recipient,
        "subject": row.subject,
        "received_at": _received_at(row.id),
        "size": row.size,
    }


def _received_at(message_id: str) -> str:
    match = _ID.fullmatch(message_id)
    assert match is not None, "only ids made here are indexed"
    seconds = datetime.fromtimestamp(int(match[1]), UTC)
    return f"{seconds:%Y-%m-%dT%H:%M:%S}.{match[2][:3]}Z"
