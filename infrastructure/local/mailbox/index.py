"""Index the mailbox in SQLite, one row for each message, so that a listing opens no message file.

The Maildir is the truth and the index a copy (see `index_file`). The sink writes a row from a few
header fields. The details of a message take parsing and a look into the service's tables: the API
adds them when it has time, or when somebody wants to see or search them.
"""

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from infrastructure.local.mailbox.index_file import open_index, transaction
from infrastructure.local.mailbox.query_terms import SUBACCOUNT_INBOX
from infrastructure.local.mailbox.rows import Arrivals, Condition, Details, Inbox, Row
from infrastructure.local.mailbox.schema import (
    COLUMNS,
    DETAIL_COLUMNS,
    INSERT,
    INSERT_DETAILS,
    INSERT_FIELDS,
)
from infrastructure.local.mailbox.search import MailboxSearch
from infrastructure.local.mailbox.search_texts import address_lines, search_head
from infrastructure.local.mailbox.text_blocks import TextBlocks

_AFTER_ALL = 1 << 62
_CHECKED_AT_ONCE = 500
_TABLES_OF_DETAILS = ("details", "search_fields", "search_texts")


class MailboxIndex:
    """Rows by message id; `uid` is the order of arrival. Any thread may call it."""

    def __init__(
        self,
        path: Path,
        stored_ids: Callable[[], Iterable[tuple[str, bool]]],
        summarise: Callable[[str], Row | None],
    ) -> None:
        """Open the index at `path` (see `open_index`)."""
        self._lock = threading.RLock()
        self._database = open_index(path, stored_ids, summarise)
        self._blocks = TextBlocks(self._database, self._lock)
        self._search = MailboxSearch(self._database, self._lock, self._blocks)

    def insert(self, rows: Sequence[Row]) -> None:
        """Add rows, all or none.

        Repeating one is harmless: another process may have just found its file.
        """
        with self._lock:
            if len(rows) == 1 and rows[0].given_tags == "[]":
                self._database.execute(INSERT, rows[0][:-1])
                return
            with transaction(self._database):
                self._database.executemany(INSERT, (row[:-1] for row in rows))
                for row in rows:
                    if row.given_tags != "[]":
                        self._add_tags(row.id, row.given_tags, by_service=False)

    def search(
        self,
        conditions: Sequence[Condition],
        limit: int,
        before: int | None = None,
        since: int | None = None,
        offset: int = 0,
    ) -> list[Row]:
        """The newest rows that meet all conditions, without the first `offset` ones.

        `before` and `since` bound their uids.
        """
        return self._search.rows(conditions, limit, before, since, offset)

    def count(self, conditions: Sequence[Condition] = ()) -> tuple[int, int]:
        """The number of messages that meet all conditions, and of the unread ones among them."""
        return self._search.count(conditions) if conditions else self.counts()

    def uids(self, conditions: Sequence[Condition] = ()) -> list[int]:
        """The uids of the messages that meet all conditions, in ascending order."""
        return self._search.uids(conditions)

    def ids(self, conditions: Sequence[Condition] = (), limit: int | None = None) -> list[str]:
        """The ids of the messages that meet all conditions, at most `limit` of them."""
        return self._search.ids(conditions, limit)

    def rows_after(self, uid: int, limit: int) -> list[Row]:
        """The oldest rows with a greater uid."""
        query = f"SELECT {COLUMNS} FROM messages WHERE uid > ? ORDER BY uid LIMIT ?"
        return self._rows(query, [uid, limit])

    def row(self, message_id: str) -> Row | None:
        """The row of one message."""
        rows = self._rows(f"SELECT {COLUMNS} FROM messages WHERE id = ?", [message_id])
        return rows[0] if rows else None

    def newest(self) -> int:
        """The greatest uid, 0 if there is no message."""
        with self._lock:
            return self._database.execute("SELECT max(uid) FROM messages").fetchone()[0] or 0

    def arrivals(self) -> Arrivals:
        """What has come since the index was made, also what was deleted since."""
        query = (
            "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'messages'),"
            " sum(messages) FROM inboxes WHERE NOT is_subaccount"
        )
        with self._lock:
            last_uid, messages = self._database.execute(query).fetchone()
        return Arrivals(last_uid or 0, (last_uid or 0) - (messages or 0))

    def uid_before(self, message_id: str) -> int:
        """The greatest uid that was given before any message had this id or a later one."""
        query = "SELECT min(uid) FROM messages WHERE id >= ?"
        with self._lock:
            uid: int | None = self._database.execute(query, (message_id,)).fetchone()[0]
            return self.arrivals().last_uid if uid is None else uid - 1

    def validity(self) -> int:
        """A number that changes when uids begin anew: the second in which the index was made."""
        with self._lock:
            value: int = self._database.execute("SELECT seconds FROM main.epoch").fetchone()[0]
            return value

    def counts(self) -> tuple[int, int]:
        """The number of all messages, and of the unread ones."""
        query = "SELECT sum(messages), sum(unread) FROM inboxes WHERE NOT is_subaccount"
        with self._lock:
            messages, unread = self._database.execute(query).fetchone()
            return messages or 0, unread or 0

    def size(self, after: int = 0) -> int:
        """The bytes of all messages, or of those with a greater uid."""
        query = "SELECT coalesce(sum(size), 0) FROM messages WHERE uid > ?"
        with self._lock:
            number: int = self._database.execute(query, (after,)).fetchone()[0]
            return number

    def inboxes(self) -> list[Inbox]:
        """The inboxes that have messages, in the order of their names; subaccounts come last."""
        query = "SELECT is_subaccount, name, messages, unread FROM inboxes"
        with self._lock:
            rows = self._database.execute(query).fetchall()
        return [
            Inbox(f"{SUBACCOUNT_INBOX}{name}" if is_subaccount else name, messages, unread)
            for is_subaccount, name, messages, unread in rows
        ]

    def tag_names(self) -> list[str]:
        """The tags that messages have, in their order; it takes as long as there are tags."""
        query = (
            "WITH RECURSIVE names (folded) AS (SELECT min(folded) FROM message_tags UNION ALL"
            " SELECT (SELECT min(folded) FROM message_tags WHERE folded > names.folded) FROM names"
            " WHERE folded IS NOT NULL) SELECT (SELECT tag FROM message_tags"
            " WHERE message_tags.folded = names.folded LIMIT 1) FROM names"
            " WHERE folded IS NOT NULL"
        )
        with self._lock:
            return [row[0] for row in self._database.execute(query)]

    def tags(self) -> dict[str, int]:
        """The number of messages of each tag, in the order of the tags."""
        query = (
            "SELECT max(tag), count(DISTINCT uid) FROM message_tags GROUP BY folded ORDER BY folded"
        )
        with self._lock:
            return dict(self._database.execute(query).fetchall())

    def version(self) -> tuple[int, int]:
        """A value that changes with every write; reading it costs microseconds."""
        with self._lock:
            # The first number is changed by other connections only, the second by this one
            others: int = self._database.execute("PRAGMA data_version").fetchone()[0]
            return others, self._database.total_changes

    def details(self, message_ids: Sequence[str]) -> dict[str, Details]:
        """The details of those of these messages that have them, by id; without their `body`."""
        with self._lock:
            rows = self._database.execute(
                f"SELECT {DETAIL_COLUMNS} FROM extra.details WHERE uid IN (SELECT uid FROM messages"
                " WHERE id IN (SELECT value FROM json_each(?)))",
                (json.dumps(message_ids),),
            )
            return {row[0]: Details._make([*row, ""]) for row in rows}

    def undetailed(self, before: int | None, limit: int) -> list[tuple[int, str]]:
        """The uids and ids of the newest messages without details."""
        with self._lock:
            rows = self._database.execute(
                "SELECT uid, id FROM messages WHERE NOT detailed AND uid < ?"
                " ORDER BY uid DESC LIMIT ?",
                (before or _AFTER_ALL, limit),
            )
            return rows.fetchall()

    def add_details(self, details: Sequence[Details]) -> None:
        """Store the details of messages; those of messages that are deleted meanwhile are not."""
        by_id = {each.id: each for each in details}
        with self._lock:
            rows = self._database.execute(
                "SELECT id, uid, subjects, senders, recipients FROM messages"
                " WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(list(by_id)),),
            ).fetchall()
            # The index proper is locked for a moment only, because mail may be coming
            with transaction(self._database, "DEFERRED"):
                for message_id, uid, *lines in rows:
                    self._store_details(uid, lines, by_id[message_id])
            with transaction(self._database):
                for message_id, uid, *_ in rows:
                    each = by_id[message_id]
                    self._database.execute(
                        "UPDATE messages SET detailed = 1, subaccount = ? WHERE uid = ?",
                        ((each.subaccount_id or None) if each.message_id else None, uid),
                    )
                    if each.tags != "[]":
                        self._add_tags(message_id, each.tags, by_service=True)

    def set_unread(self, message_ids: Sequence[str], unread: bool) -> None:
        """Flag messages as unread or as read."""
        with self._lock, transaction(self._database):
            self._database.executemany(
                "UPDATE messages SET unread = ? WHERE id = ?",
                ((unread, message_id) for message_id in message_ids),
            )

    def set_tags(self, message_id: str, given_tags: str, size: int) -> None:
        """Note the tags that a message was given (JSON), and its new size."""
        with self._lock, transaction(self._database):
            self._database.execute(
                "UPDATE messages SET given_tags = ?, size = ? WHERE id = ?",
                (given_tags, size, message_id),
            )
            self._database.execute(
                "DELETE FROM message_tags WHERE NOT by_service"
                " AND uid = (SELECT uid FROM messages WHERE id = ?)",
                (message_id,),
            )
            self._add_tags(message_id, given_tags, by_service=False)

    def beyond(self, most: int, limit: int) -> list[str]:
        """Some ids of the oldest messages of inboxes, beyond the newest `most` of each."""
        ids: list[str] = []
        with self._lock:
            crowded = self._database.execute(
                "SELECT is_subaccount, name, messages - ? FROM inboxes WHERE messages > ?",
                (most, most),
            ).fetchall()
            for is_subaccount, name, number in crowded:
                column = "subaccount" if is_subaccount else "inbox"
                rows = self._database.execute(
                    f"SELECT id FROM messages WHERE {column} = ? ORDER BY uid LIMIT ?",
                    (name, min(number, limit - len(ids))),
                )
                ids += [row[0] for row in rows]
        return list(dict.fromkeys(ids))

    def take(self, message_ids: Sequence[str]) -> list[str]:
        """Delete the rows of messages; return the ids of those that there were."""
        with self._lock:
            with transaction(self._database):
                rows = self._database.execute(
                    "DELETE FROM messages WHERE id IN (SELECT value FROM json_each(?))"
                    " RETURNING uid, id",
                    (json.dumps(message_ids),),
                ).fetchall()
            with transaction(self._database, "DEFERRED"):
                self._drop_details([uid for uid, _ in rows])
            return [message_id for _, message_id in rows]

    def unbuilt_block(self) -> int | None:
        """The oldest block of messages whose texts can get vocabularies (`text_blocks`)."""
        with self._lock:
            return self._blocks.unbuilt()

    def build_block(self, number: int) -> Iterator[None]:
        """Give a block its vocabularies, step by step."""
        return self._blocks.build(number)

    def drop_orphans(self) -> Iterator[None]:
        """Delete the details of messages that are gone, step by step."""
        self._blocks.drop_old()
        last = 0
        while True:
            with self._lock, transaction(self._database, "DEFERRED"):
                query = "SELECT uid FROM extra.details WHERE uid > ? ORDER BY uid LIMIT ?"
                rows = self._database.execute(query, (last, _CHECKED_AT_ONCE)).fetchall()
                uids = [uid for (uid,) in rows]
                query = "SELECT uid FROM messages WHERE uid IN (SELECT value FROM json_each(?))"
                present = {row[0] for row in self._database.execute(query, (json.dumps(uids),))}
                if lost := [uid for uid in uids if uid not in present]:
                    self._drop_details(lost)
            if len(uids) < _CHECKED_AT_ONCE:
                return
            last = uids[-1]
            yield

    def close(self) -> None:
        """Close the database; the index cannot be used afterwards."""
        with self._lock:
            self._database.close()

    def _store_details(self, uid: int, lines: Sequence[str], details: Details) -> None:
        self._database.execute(INSERT_DETAILS, (uid, *details[:-1]))
        by_service = bool(details.message_id)
        addresses = address_lines(details)
        # Digits of a Message-ID are no words of a message
        head = search_head(lines, addresses)
        fields = (details.attachments, details.inlines, details.subaccount_id, by_service)
        found_by = (details.header_id.casefold(), *addresses, details.unusual, len(head))
        self._database.execute(INSERT_FIELDS, (uid, *fields, *found_by))
        self._database.execute(
            "INSERT OR REPLACE INTO extra.search_texts VALUES (?, ?)", (uid, head + details.body)
        )

    def _drop_details(self, uids: Sequence[int]) -> None:
        for table in _TABLES_OF_DETAILS:
            self._database.execute(
                f"DELETE FROM extra.{table} WHERE uid IN (SELECT value FROM json_each(?))",
                (json.dumps(uids),),
            )

    def _add_tags(self, message_id: str, tags: str, *, by_service: bool) -> None:
        self._database.executemany(
            "INSERT OR REPLACE INTO message_tags SELECT uid, ?, ?, ? FROM messages WHERE id = ?",
            [(tag.casefold(), by_service, tag, message_id) for tag in json.loads(tags)],
        )

    def _rows(self, query: str, values: Sequence[str | int]) -> list[Row]:
        with self._lock:
            return [Row(*row) for row in self._database.execute(query, values)]
