"""Keep mail that was accepted as a Maildir, listed by an index.

Layout under the root: `tmp`, `new` and `cur` as any mail reader expects (a message is written in
`tmp` and renamed into `new`), and `index.sqlite3`. A message is stored under its trace (see
`trace`), from which a rebuilt index learns the envelope. One process adds messages; others may
list, read and clear at the same time.
"""

import json
import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypedDict

from chalicelib.mail_format.encoded_words import readable
from infrastructure.local.mailbox.full_disk import is_full
from infrastructure.local.mailbox.header_fields import address_pairs, field, header_block
from infrastructure.local.mailbox.index import MailboxIndex
from infrastructure.local.mailbox.mailbox_query import simple_conditions
from infrastructure.local.mailbox.rows import Condition, Row
from infrastructure.local.mailbox.search_texts import lines_of, plain
from infrastructure.local.mailbox.trace import Trace, shown, split

Entry = TypedDict(
    "Entry",
    {
        "id": str,
        "from": str,
        "to": str,
        "subject": str,
        "received_at": str,
        "size": int,
        "unread": bool,
        "inbox": str,
    },
)
Entries = list[Entry]

# Seconds, microseconds and process of arrival: safe in a URL, unique, and in order of arrival.
_ID = re.compile(r"(\d{10})\.M(\d{6})P\d{1,10}\.postfinch", re.ASCII)
_SEEN = ":2,S"
#: So many messages are deleted in one transaction, which others wait for
DELETED_AT_ONCE = 200
FLAGGED_AT_ONCE = 200
# Of a From field, only the first address counts here; a message that arrives must not take long
_MOST_OF_AUTHOR = 10_000


class Sizes(NamedTuple):
    """The bytes of a message's file, and those that mail readers get."""

    stored_bytes: int
    shown_bytes: int


class SinkMailbox:
    """Messages by id. Ids are stable, need no quoting in a URL, and sort by time of arrival."""

    def __init__(self, root: Path) -> None:
        """Open the mailbox at `root`, making it or mending its index where needed."""
        self._root = root
        # As texts, because pathlib takes as long to compose a path as the system to make a file
        self._tmp, self._new = f"{root / 'tmp'}/", f"{root / 'new'}/"
        self._lock = threading.Lock()
        self._newest = 0
        for folder in ("tmp", "new", "cur"):
            (root / folder).mkdir(parents=True, exist_ok=True)
        self._index = MailboxIndex(root / "index.sqlite3", self._stored_ids, self._summarise)

    def add(self, sender: str, recipient: str, message: bytes) -> str:
        """Store a message for one envelope recipient, as `store` does."""
        return self.store(Trace(sender, (recipient,)), message)

    def store(self, trace: Trace, message: bytes) -> str:
        """Store a message; it can be found once this returns its id.

        Raises ValueError when an address could break out of its header field, OSError or
        sqlite3.Error when storing fails.
        """
        return self.store_all([(trace, message)])[0]

    def store_all(self, messages: Iterable[tuple[Trace, bytes]]) -> list[str]:
        """Store messages together, which takes half as long as one by one; as `store` does.

        When it raises, none is stored.
        """
        rows: list[Row] = []
        try:
            for trace, message in messages:
                rows.append(self._write(trace, message))
            self._index.insert(rows)
        except BaseException:
            for row in rows:
                Path(self._new + row.id).unlink(missing_ok=True)
            raise
        return [row.id for row in rows]

    @property
    def index(self) -> MailboxIndex:
        """The index, which is changed through the mailbox only, except for details."""
        return self._index

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
        conditions = simple_conditions(to, sender, subject)
        return [entry_of(row) for row in self._index.search(conditions, limit)]

    def read(self, message_id: str) -> bytes | None:
        """The message as stored, trace fields first; None when there is no such id."""
        while path := self._path(message_id):
            # A flag that is set meanwhile renames the file
            with suppress(FileNotFoundError):
                return path.read_bytes()
        return None

    def set_unread(self, message_ids: Iterable[str], unread: bool) -> None:
        """Flag messages, in the names of their files as mail readers do, and in the index."""
        for batch in _batches(message_ids, FLAGGED_AT_ONCE):
            flagged = [each for each in batch if self._flag(each, unread)]
            self._index.set_unread(flagged, unread)

    def set_tags(self, message_id: str, tags: Sequence[str]) -> bool:
        """Let a message have these tags, beside those of the service; False if it is gone."""
        while path := self._path(message_id):
            with suppress(FileNotFoundError):
                source = path.read_bytes()
                trace, begin = split(source)
                message = source[begin:]
                tagged = replace(trace or Trace("", ()), tags=tuple(tags)).before(message) + message
                fresh = self._tmp + message_id
                _write_file(fresh, tagged)
                try:
                    # A flag that is set meanwhile renames the file
                    if path.exists():
                        os.replace(fresh, path)
                        self._index.set_tags(message_id, json.dumps(list(tags)), len(tagged))
                        return True
                finally:
                    Path(fresh).unlink(missing_ok=True)
        return False

    def trim(self, most: int, oldest: float, limit: int = DELETED_AT_ONCE) -> int:
        """Delete what is beyond the newest `most` of an inbox, and what came before `oldest`.

        `most` is 0 for any number, `oldest` is in seconds since 1970. At most `limit` messages go;
        returns how many went.
        """
        message_ids = self._index.beyond(most, limit) if most else []
        if oldest > 0:
            too_old = Condition("id < ?", (f"{int(oldest):010d}",))
            message_ids += self._index.ids([too_old], limit)
        return self.delete_all(message_ids[:limit])

    def delete(self, message_id: str) -> bool:
        """Delete a message; tell whether there was one."""
        return self.delete_all([message_id]) == 1

    def delete_all(self, message_ids: Iterable[str]) -> int:
        """Delete messages; return the number of those that there were."""
        return sum(map(self._delete_some, _batches(message_ids, DELETED_AT_ONCE)))

    def clear(self) -> int:
        """Delete every message that is there now; the number deleted."""
        newest = self._index.newest()
        number = 0
        while ids := self._index.ids([Condition("uid <= ?", (newest,))], DELETED_AT_ONCE):
            number += self._delete_some(ids)
        return number

    def uid_before(self, seconds: float) -> int:
        """The greatest uid of what came before a time, in seconds since 1970."""
        return self._index.uid_before(_id_at(int(seconds * 1_000_000)))

    def close(self) -> None:
        """Close the index; the mailbox cannot be used afterwards."""
        self._index.close()

    def _delete_some(self, message_ids: Sequence[str]) -> int:
        paths = {each: path for each in message_ids if (path := self._path(each)) is not None}
        try:
            taken_ids = self._index.take(list(paths))
        except sqlite3.OperationalError as error:
            if not is_full(error):
                raise
            # The index needs room to write that messages are gone; their files have it
            for message_id, path in paths.items():
                self._unlink(message_id, path)
            return len(self._index.take(list(paths)))
        for message_id in taken_ids:
            self._unlink(message_id, paths[message_id])
        return len(taken_ids)

    def _unlink(self, message_id: str, path: Path | None) -> None:
        while path is not None:
            # A flag that is set meanwhile renames the file
            with suppress(FileNotFoundError):
                return path.unlink()
            path = self._path(message_id)

    def _next_id(self) -> str:
        with self._lock:
            self._newest = max(self._newest + 1, time.time_ns() // 1000)
            return f"{_id_at(self._newest)}P{os.getpid()}.postfinch"

    def _write(self, trace: Trace, message: bytes) -> Row:
        """Write the file of a message; return its row."""
        message_id = self._next_id()
        lines = trace.before(message)
        sizes = Sizes(len(lines) + len(message), len(shown(lines)) + len(message))
        row = _row(message_id, trace, message, sizes, True)
        fresh = self._tmp + message_id
        _write_file(fresh, lines, message)
        os.rename(fresh, self._new + message_id)
        return row

    def _path(self, message_id: str) -> Path | None:
        if not _ID.fullmatch(message_id):
            return None
        new = self._root / "new" / message_id
        if new.exists():
            return new
        # A mail reader moves what it has seen to `cur` and appends its flags to the name.
        seen = self._root / "cur" / f"{message_id}{_SEEN}"
        if seen.exists():
            return seen
        return next((self._root / "cur").glob(f"{message_id}*"), None)

    def _flag(self, message_id: str, unread: bool) -> bool:
        """Rename a message's file so that its name has the flag S, or not; False if it is gone."""
        path = self._path(message_id)
        if path is None:
            return False
        others = set(path.name.partition(":2,")[2]) - {"S"}
        flags = "".join(sorted(others if unread else others | {"S"}))
        folder, name = ("cur", f"{message_id}:2,{flags}") if flags else ("new", message_id)
        try:
            path.rename(self._root / folder / name)
        except FileNotFoundError:
            return False
        return True

    def _stored_ids(self) -> Iterator[tuple[str, bool]]:
        for folder in ("new", "cur"):
            with os.scandir(self._root / folder) as files:
                for file in files:
                    message_id, _, flags = file.name.partition(":")
                    if _ID.fullmatch(message_id):
                        yield message_id, "S" not in flags.removeprefix("2,")

    def _summarise(self, message_id: str) -> Row | None:
        message = self.read(message_id)
        if message is None:
            return None
        trace, begin = split(message)
        path = self._path(message_id)
        unread = path is None or "S" not in path.name.partition(":2,")[2]
        trace = trace or Trace("", ())
        sizes = Sizes(len(message), len(shown(message)))
        return _row(message_id, trace, message[begin:], sizes, unread)


def _id_at(micros: int) -> str:
    """Return how the ids of messages begin that come at this time."""
    return f"{micros // 1_000_000:010d}.M{micros % 1_000_000:06d}"


def _batches(message_ids: Iterable[str], size: int) -> Iterator[Sequence[str]]:
    iterator = iter(message_ids)
    while batch := list(islice(iterator, size)):
        yield batch


def _write_file(path: str, *parts: bytes) -> None:
    """Write a new file with four system calls less than a file object of Python takes."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        size, written_size = sum(map(len, parts)), os.writev(descriptor, parts)
        while written_size < size:  # the system takes 2 GB at once, and less on a full disk
            rest = b"".join(parts)[written_size:]
            written_size += os.write(descriptor, rest)
    except OSError:
        # On a full disk, the part that was written would keep it full
        os.unlink(path)
        raise
    finally:
        os.close(descriptor)


def _row(message_id: str, trace: Trace, message: bytes, sizes: Sizes, unread: bool) -> Row:
    headers = header_block(message)
    author, name = _author(field(headers, "From")[:_MOST_OF_AUTHOR])
    subject = readable(field(headers, "Subject"))
    return Row(
        id=message_id,
        recipient=", ".join(trace.recipients),
        author=author or trace.sender,
        subject=subject,
        size=sizes.stored_bytes,
        unread=unread,
        inbox=trace.inbox,
        login=trace.login,
        given_tags=json.dumps(trace.tags) if trace.tags else "[]",
        recipients="\n".join(map(lines_of, trace.recipients)),
        senders="\n".join((lines_of(author), plain(name), lines_of(trace.sender))),
        subjects=subject.casefold(),
        shown_size=sizes.shown_bytes,
    )


@lru_cache(maxsize=256)
def _author(header: str) -> tuple[str, str]:
    """Return the address of a From field, and the field as people read it."""
    return next((address for _, address in address_pairs(header)), ""), readable(header)


def entry_of(row: Row) -> Entry:
    """Return what lists show of a message."""
    return {
        "id": row.id,
        "from": row.author,
        "to": row.recipient,
        "subject": row.subject,
        "received_at": received_at(row.id),
        "size": row.size,
        "unread": bool(row.unread),
        "inbox": row.inbox,
    }


def received_at(message_id: str) -> str:
    """Return when a message arrived, by its id, in milliseconds."""
    match = _ID.fullmatch(message_id)
    assert match is not None, "only ids made here are indexed"
    seconds = datetime.fromtimestamp(int(match[1]), UTC)
    return f"{seconds:%Y-%m-%dT%H:%M:%S}.{match[2][:3]}Z"
