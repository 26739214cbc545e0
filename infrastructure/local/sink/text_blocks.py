"""Search texts of messages by the words in them.

Messages are in blocks by their uid. A block that is full gets two vocabularies: its words, and what
blanks part if it is more than a word, such as an address. Each entry has the set of messages that
it is in. A part of a word is then looked for in all different words of a block, which are far less
than its text; the answer is exact. What has blanks in it is looked for in the texts of the messages
that have all its pieces. Without vocabularies, all texts of a block are searched.
"""

import re
import sqlite3
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence

BLOCK_BITS = 10
BLOCK_SIZE = 1 << BLOCK_BITS
_WORDS, _OTHERS = 0, 1
_WORD = re.compile(r"\w+")
_BITMAP_BYTES = BLOCK_SIZE // 8
# What is longer is stored as a bitmap
_MOST_LISTED = _BITMAP_BYTES // 2 - 1
_MOST_ANSWERS = 4000


class TextBlocks:
    """The blocks of an index; a set of messages of a block is a number with a bit for each."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
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
        start = number << BLOCK_BITS
        query = "SELECT uid - ? FROM extra.search_texts WHERE uid BETWEEN ? AND ?"
        rows = self._database.execute(query, (start, start, start + BLOCK_SIZE - 1))
        return _set(offset for (offset,) in rows)

    def build(self, number: int) -> bool:
        """Give a block its vocabularies; False if it has no message any more."""
        start = number << BLOCK_BITS
        query = "SELECT uid - ?, text FROM extra.search_texts WHERE uid BETWEEN ? AND ?"
        words: dict[str, list[int]] = {}
        others: dict[str, list[int]] = {}
        rows = self._database.execute(query, (start, start, start + BLOCK_SIZE - 1))
        for offset, text in rows:
            for word in set(_WORD.findall(text)):
                words.setdefault(word, []).append(offset)
            for piece in set(text.split()):
                if not _WORD.fullmatch(piece):
                    others.setdefault(piece, []).append(offset)
        for kind, vocabulary in ((_WORDS, words), (_OTHERS, others)):
            self._database.execute(
                "INSERT OR REPLACE INTO extra.text_blocks VALUES (?, ?, ?, ?, ?, ?)",
                (number, kind, *_columns(vocabulary)),
            )
        return bool(words)

    def _look(self, number: int, text: str) -> int:
        if _WORD.fullmatch(text):
            answer = self._in_vocabulary(number, _WORDS, text)
        elif len(pieces := text.split()) == 1 and pieces[0] == text:
            answer = self._in_vocabulary(number, _OTHERS, text)
        else:
            answer = self._with_blanks(number, text, pieces)
        if answer is None:
            return self._in_texts(number, text)
        self._answers[number, text] = answer
        if len(self._answers) > _MOST_ANSWERS:
            self._answers.popitem(last=False)
        return answer

    def _in_vocabulary(self, number: int, kind: int, text: str) -> int | None:
        row = self._database.execute(
            "SELECT words, starts, ends, messages FROM extra.text_blocks"
            " WHERE number = ? AND kind = ?",
            (number, kind),
        ).fetchone()
        return None if row is None else _union(text.encode(), *row)

    def _with_blanks(self, number: int, text: str, pieces: Sequence[str]) -> int | None:
        bits = -1
        for piece in pieces:
            kind = _WORDS if _WORD.fullmatch(piece) else _OTHERS
            matching = self._in_vocabulary(number, kind, piece)
            if matching is None:
                return None
            bits &= matching
        return self._in_texts(number, text, bits) if bits else 0

    def _in_texts(self, number: int, text: str, among: int = -1) -> int:
        start = number << BLOCK_BITS
        marks = format(among & ((1 << BLOCK_SIZE) - 1), f"0{BLOCK_SIZE}b")[::-1].encode()
        rows = self._database.execute(
            "SELECT uid - ? FROM extra.search_texts WHERE uid BETWEEN ? AND ?"
            " AND substr(?, uid - ? + 1, 1) = x'31' AND instr(text, ?)",
            (start, start, start + BLOCK_SIZE - 1, marks, start, text),
        )
        return _set(offset for (offset,) in rows)


def _set(offsets: Iterable[int]) -> int:
    bits = 0
    for offset in offsets:
        bits |= 1 << offset
    return bits


def _columns(vocabulary: dict[str, list[int]]) -> tuple[bytes, bytes, bytes, bytes]:
    """Return all words, where each begins, where its messages end, and all messages."""
    starts, ends = array("I"), array("I")
    messages = bytearray()
    position = 1
    encoded = [word.encode() for word in vocabulary]
    for word, offsets in zip(encoded, vocabulary.values(), strict=True):
        starts.append(position)
        position += len(word) + 1
        if len(offsets) > _MOST_LISTED:
            messages += _set(offsets).to_bytes(_BITMAP_BYTES, "little")
        else:
            messages += array("H", offsets).tobytes()
        ends.append(len(messages))
    words = b"\n" + b"\n".join(encoded) + b"\n"
    return words, starts.tobytes(), ends.tobytes(), bytes(messages)


def _union(text: bytes, words: bytes, starts_: bytes, ends_: bytes, messages: bytes) -> int:
    """Return the messages of all words that have the text in them."""
    position = words.find(text)
    if position < 0:
        return 0
    starts, ends = array("I", starts_), array("I", ends_)
    marks, bits = bytearray(BLOCK_SIZE), 0
    while position >= 0:
        index = bisect_right(starts, position)
        begin = ends[index - 2] if index > 1 else 0
        listed = messages[begin : ends[index - 1]]
        if len(listed) == _BITMAP_BYTES:
            bits |= int.from_bytes(listed, "little")
        else:
            for offset in array("H", listed):
                marks[offset] = 1
        if index == len(starts):
            break
        position = words.find(text, starts[index])
    return bits | _of_marks(marks)


def _of_marks(marks: bytearray) -> int:
    """Return the set of the positions that are 1."""
    return int(marks.translate(_DIGITS)[::-1], 2)


_DIGITS = bytes([48, 49]) + bytes(254)
