"""Search texts of messages by the words in them.

Messages are in blocks by their uid. A block that is full gets two vocabularies: its words, and what
blanks part if it is more than a word, such as an address. A part of a word is then looked for in
all different words of a block, which are far less than its text; the answer is exact. What has
blanks in it is looked for in the texts of the messages that have all its pieces. So that these are
few, a third vocabulary has the phrases of frequent words. Without vocabularies, all texts of a
block are searched.

The sets of messages of a vocabulary's words are in `block_messages`, those of some words in a row.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence

from infrastructure.local.mailbox.index_file import transaction
from infrastructure.local.mailbox.vocabulary import (
    BLOCK_BITS,
    BLOCK_SIZE,
    Vocabulary,
    bitmap,
    phrases_of,
    set_of,
    union,
)

_WORDS, _OTHERS, _PHRASES = 0, 1, 2
_WORD = re.compile(r"\w+")
_MOST_ANSWERS = 4000
# Texts that are read in one step of building
_AT_ONCE = 32
# A vocabulary with more would help no search, and take much memory
_MOST_CHARACTERS = 2_000_000
# What one in so many messages has is frequent
_OFTEN = 8
# So many texts are read one by one, more in one go
_FEW = 200
# Rows of messages are numbered by block, kind and row
_KIND_SHIFT, _BLOCK_SHIFT = 20, 22


class TextBlocks:
    """The blocks of an index; a set of messages of a block is a number with a bit for each."""

    def __init__(self, database: sqlite3.Connection, lock: threading.RLock) -> None:
        self._database = database
        self._lock = lock
        # Answers of blocks with vocabularies, whose texts never change
        self._answers: OrderedDict[tuple[int, str], int] = OrderedDict()

    def matching(self, number: int, texts: Sequence[str]) -> int:
        """Return the messages of a block in whose search text one of the texts is."""
        bits = 0
        for text in texts:
            answer = self._answers.get((number, text))
            if answer is None:
                answer = self._look(number, text)
            bits |= answer
        return bits

    def everything(self, number: int) -> int:
        """Return the messages of a block that have a search text."""
        if row := self._row(number, _WORDS):
            return int.from_bytes(row[0], "little")
        start = number << BLOCK_BITS
        query = "SELECT uid - ? FROM extra.search_texts WHERE uid BETWEEN ? AND ?"
        rows = self._database.execute(query, (start, start, start + BLOCK_SIZE - 1))
        return set_of(offset for (offset,) in rows)

    def unbuilt(self) -> int | None:
        """Return the oldest full block all of whose messages have details, but no vocabularies."""
        query = (
            "SELECT min(uid), max(uid), (SELECT min(uid) FROM messages WHERE NOT detailed),"
            " (SELECT max(uid) FROM messages WHERE NOT detailed) FROM messages"
        )
        least, greatest, first_gap, last_gap = self._database.execute(query).fetchone()
        if least is None:
            return None
        query = "SELECT number FROM extra.text_blocks WHERE kind = 0"
        complete = {number for (number,) in self._database.execute(query)}
        gaps = (
            range(0)
            if first_gap is None
            else range(first_gap >> BLOCK_BITS, (last_gap >> BLOCK_BITS) + 1)
        )
        for number in range(least >> BLOCK_BITS, greatest >> BLOCK_BITS):
            if number not in complete and (number not in gaps or not self._has_gap(number)):
                return number
        return None

    def build(self, number: int) -> Iterator[None]:
        """Give a block its vocabularies, with a step for some messages at a time."""
        words, others, phrases = Vocabulary(), Vocabulary(), Vocabulary()
        offsets: list[int] = []
        for texts in self._texts(number):
            for offset, text in texts:
                offsets.append(offset)
                pieces = set(text.split())
                simple = {piece for piece in pieces if piece.isalnum()}
                pieces -= simple
                others.add(pieces, offset)
                words.add(simple.union(_WORD.findall(" ".join(pieces))), offset)
            if words.characters + others.characters > _MOST_CHARACTERS:
                self._give_up(number)
                return
            yield
        often = len(offsets) // _OFTEN
        frequent = words.frequent(often) | others.frequent(often)
        for texts in self._texts(number):
            for offset, text in texts:
                if phrases.characters < _MOST_CHARACTERS:
                    phrases.add(phrases_of(text, frequent), offset)
            yield
        # The words come last, because they say that the block has all vocabularies
        for kind, vocabulary in ((_PHRASES, phrases), (_OTHERS, others), (_WORDS, words)):
            content = vocabulary.text()
            for rows_of_messages in vocabulary.rows():
                self._store(number, kind, rows_of_messages)
                yield
            self._store_words(number, kind, bitmap(set_of(offsets)), content)

    def _texts(self, number: int) -> Iterator[list[tuple[int, str]]]:
        """Yield offsets and texts of a block, some at a time."""
        start = number << BLOCK_BITS
        query = "SELECT uid - ?, text FROM extra.search_texts WHERE uid BETWEEN ? AND ?"
        for first in range(start, start + BLOCK_SIZE, _AT_ONCE):
            with self._lock:
                rows = self._database.execute(query, (start, first, first + _AT_ONCE - 1))
                texts = rows.fetchall()
            yield texts

    def _give_up(self, number: int) -> None:
        """Leave a block without vocabularies, which would be as long as its texts."""
        self._store_words(number, _WORDS, b"", b"")

    def _store_words(self, number: int, kind: int, members: bytes, words: bytes) -> None:
        with self._lock:
            self._database.execute(
                "INSERT OR REPLACE INTO extra.text_blocks VALUES (?, ?, ?, ?)",
                (number, kind, members, words),
            )

    def drop_old(self) -> None:
        """Delete the vocabularies of blocks that are older than every message."""
        with self._lock:
            query = "SELECT ifnull(min(uid), 1 << 40) >> ? FROM messages"
            ((oldest,),) = self._database.execute(query, (BLOCK_BITS,)).fetchall()
            query = "SELECT 1 FROM extra.text_blocks WHERE number < ? LIMIT 1"
            if self._database.execute(query, (oldest,)).fetchone() is None:
                return
            with transaction(self._database, "DEFERRED"):
                statement = "DELETE FROM extra.text_blocks WHERE number < ?"
                self._database.execute(statement, (oldest,))
                statement = "DELETE FROM extra.block_messages WHERE id < ?"
                self._database.execute(statement, (oldest << _BLOCK_SHIFT,))

    def _store(self, number: int, kind: int, rows: Sequence[tuple[int, bytes]]) -> None:
        base = (number << _BLOCK_SHIFT) + (kind << _KIND_SHIFT)
        with self._lock, transaction(self._database, "DEFERRED"):
            self._database.executemany(
                "INSERT OR REPLACE INTO extra.block_messages VALUES (?, ?)",
                [(base + row, messages) for row, messages in rows],
            )

    def _has_gap(self, number: int) -> bool:
        start = number << BLOCK_BITS
        query = "SELECT 1 FROM messages WHERE NOT detailed AND uid BETWEEN ? AND ? LIMIT 1"
        rows = self._database.execute(query, (start, start + BLOCK_SIZE - 1))
        return rows.fetchone() is not None

    def _look(self, number: int, text: str) -> int:
        pieces = text.split()
        if len(pieces) == 1 and pieces[0] == text:
            answer = self._in_vocabulary(number, text)
        else:
            answer = self._with_blanks(number, text, pieces)
        if answer is None:
            return self._in_texts(number, text)
        self._answers[number, text] = answer
        if len(self._answers) > _MOST_ANSWERS:
            self._answers.popitem(last=False)
        return answer

    def _in_vocabulary(self, number: int, text: str, kind: int | None = None) -> int | None:
        if kind is None:
            kind = _WORDS if _WORD.fullmatch(text) else _OTHERS
        row = self._row(number, kind)
        if row is None:
            return None
        base = (number << _BLOCK_SHIFT) + (kind << _KIND_SHIFT)
        members, words = row

        def messages(index: int) -> bytes:
            query = "SELECT messages FROM extra.block_messages WHERE id = ?"
            ((value,),) = self._database.execute(query, (base + index,)).fetchall()
            content: bytes = value
            return content

        return union(text.encode(), words, messages, int.from_bytes(members, "little"))

    def _row(self, number: int, kind: int) -> tuple[bytes, bytes] | None:
        query = "SELECT members, words FROM extra.text_blocks WHERE number = ? AND kind = ?"
        row: tuple[bytes, bytes] | None = self._database.execute(query, (number, kind)).fetchone()
        return row if row and row[0] else None

    def _with_blanks(self, number: int, text: str, pieces: Sequence[str]) -> int | None:
        bits = -1
        for piece in pieces:
            matching = self._in_vocabulary(number, piece)
            if matching is None:
                return None
            bits &= matching
            if not bits:
                return 0
        if not pieces or "\n" in text:  # a phrase is in one line
            return self._in_texts(number, text, bits if pieces else None)
        in_phrases = self._in_vocabulary(number, text, _PHRASES) or 0
        return in_phrases | self._in_texts(number, text, bits & ~in_phrases)

    def _in_texts(self, number: int, text: str, among: int | None = None) -> int:
        start = number << BLOCK_BITS
        values: tuple[str | int, ...] = (start, start + BLOCK_SIZE - 1)
        scope = "uid BETWEEN ? AND ?"
        if not among and among is not None:
            return 0
        if among is not None and among.bit_count() < _FEW:
            uids = [start + offset for offset in range(BLOCK_SIZE) if among >> offset & 1]
            scope, values = "uid IN (SELECT value FROM json_each(?))", (json.dumps(uids),)
        query = f"SELECT uid - ?, text FROM extra.search_texts WHERE {scope}"
        rows = self._database.execute(query, (start, *values))
        # A search in a text of Python takes a fifth of the time of SQLite's `instr`
        bits = set_of(offset for offset, content in rows if text in content)
        return bits if among is None else bits & among
