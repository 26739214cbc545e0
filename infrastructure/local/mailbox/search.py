"""Find the messages of the mailbox that meet conditions.

A condition on the search text is a set of messages, worked out block by block (`text_blocks`); all
others are SQL. So a search with one looks from the newest block on, as far as it has to.
"""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from infrastructure.local.mailbox.rows import Condition, Row
from infrastructure.local.mailbox.schema import COLUMNS
from infrastructure.local.mailbox.text_blocks import TextBlocks
from infrastructure.local.mailbox.vocabulary import BLOCK_BITS, BLOCK_SIZE, marks_of

# A search for more of them takes long; it leaves the lock to others after each block
_FEW_VALUES = 20
_ORDER = " ORDER BY uid DESC LIMIT ? OFFSET ?"


class MailboxSearch:
    """Searches by a connection to the index, whose lock it takes for each block."""

    def __init__(
        self, database: sqlite3.Connection, lock: threading.RLock, blocks: TextBlocks
    ) -> None:
        self._database = database
        self._lock = lock
        self._blocks = blocks

    def rows(
        self,
        conditions: Sequence[Condition],
        limit: int,
        before: int | None,
        since: int | None,
        offset: int,
    ) -> list[Row]:
        """Return the newest rows that meet all conditions (see `MailboxIndex.search`)."""
        rows: list[Row] = []
        limit, offset = max(limit, 0), max(offset, 0)
        for source, values in self._sources(conditions, before, since):
            if len(rows) >= limit:
                break
            with self._lock:
                query = f"SELECT {COLUMNS} FROM {source}{_ORDER}"
                fresh = self._database.execute(query, [*values, limit - len(rows), offset])
                found_rows = [Row(*row) for row in fresh]
                if offset and not found_rows:
                    offset -= self._number(source, values)[0]
                else:
                    offset = 0
            rows += found_rows
        return rows

    def count(self, conditions: Sequence[Condition]) -> tuple[int, int]:
        """Return the number of messages that meet all conditions, and of unread ones."""
        messages = unread = 0
        for source, values in self._sources(conditions):
            with self._lock:
                more, more_unread = self._number(source, values)
            messages, unread = messages + more, unread + more_unread
        return messages, unread

    def uids(self, conditions: Sequence[Condition]) -> list[int]:
        """Return the uids of the messages that meet all conditions, in ascending order."""
        return sorted(row[0] for row in self._all("uid", conditions))

    def ids(self, conditions: Sequence[Condition], limit: int | None) -> list[str]:
        """Return the ids of at most `limit` messages that meet all conditions."""
        return [row[0] for row in self._all("id", conditions, limit)]

    def _all(
        self, column: str, conditions: Sequence[Condition], limit: int | None = None
    ) -> list[Any]:
        rows: list[Any] = []
        for source, values in self._sources(conditions):
            most = -1 if limit is None else limit - len(rows)
            if most == 0:
                break
            with self._lock:
                query = f"SELECT {column} FROM {source} LIMIT ?"
                rows += self._database.execute(query, [*values, most]).fetchall()
        return rows

    def _number(self, source: str, values: Sequence[Any]) -> tuple[int, int]:
        query = f"SELECT count(*), sum(unread) FROM {source}"
        messages, unread = self._database.execute(query, values).fetchone()
        return messages, unread or 0

    def _sources(
        self, conditions: Sequence[Condition], before: int | None = None, since: int | None = None
    ) -> Iterator[tuple[str, list[Any]]]:
        """Yield what follows FROM, and its values: once, or for each block, the newest first."""
        others = [each for each in conditions if not each.texts]
        if before is not None:
            others.append(Condition("uid < ?", (before,)))
        if since is not None:
            others.append(Condition("uid >= ?", (since,)))
        texts = [each for each in conditions if each.texts]
        if not texts and sum(len(each.values) for each in others) <= _FEW_VALUES:
            yield _source(others)
            return
        for number in self._numbers(before, since):
            start = number << BLOCK_BITS
            if not texts:
                in_block = Condition("uid BETWEEN ? AND ?", (start, start + BLOCK_SIZE - 1))
                yield _source([in_block, *others])
                continue
            with self._lock:
                bits = self._bits(number, texts)
            if bits:
                in_block = Condition(
                    "uid BETWEEN ? AND ? AND substr(?, uid - ? + 1, 1) = x'31'",
                    (start, start + BLOCK_SIZE - 1, marks_of(bits), start),
                )
                yield _source([in_block, *others])

    def _bits(self, number: int, texts: Sequence[Condition]) -> int:
        bits = -1
        for each in texts:
            matching = self._blocks.matching(number, each.texts)
            bits &= self._blocks.everything(number) & ~matching if each.negated else matching
            if not bits:
                break
        return bits

    def _numbers(self, before: int | None, since: int | None) -> Iterator[int]:
        with self._lock:
            query = "SELECT min(uid) FROM messages UNION ALL SELECT max(uid) FROM messages"
            (least,), (greatest,) = self._database.execute(query)
        if least is None:
            return
        least = max(least, since or 0)
        greatest = greatest if before is None else min(greatest, before - 1)
        yield from range(greatest >> BLOCK_BITS, (least >> BLOCK_BITS) - 1, -1)


def _source(conditions: Sequence[Condition]) -> tuple[str, list[Any]]:
    # With details first, a row is only looked up if the details match
    in_fields = any(each.in_fields for each in conditions)
    tables = "extra.search_fields CROSS JOIN messages USING (uid)" if in_fields else "messages"
    in_order = sorted(conditions, key=lambda each: not each.in_fields)
    where = " AND ".join(f"({each.sql})" for each in in_order) or "1"
    return f"{tables} WHERE {where}", [value for each in in_order for value in each.values]
