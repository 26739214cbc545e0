"""Write and search the vocabulary of a block of messages.

It is a text with a line for each word, those in the most messages first, and a set of messages
for each word. The sets of some words that follow one another are in a row: where each of them ends,
and then each, as a list of offsets or, if that would be longer, as a bitmap.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence

BLOCK_BITS = 11
BLOCK_SIZE = 1 << BLOCK_BITS

_BITMAP_BYTES = BLOCK_SIZE // 8
# What is longer is stored as a bitmap
_MOST_LISTED = _BITMAP_BYTES // 2 - 1
_ROW_BITS = 6
_WORDS_IN_ROW = 1 << _ROW_BITS
_HEAD_BYTES = 2 * _WORDS_IN_ROW
_ROWS_AT_ONCE = 100
# Words after which it is worth looking whether all messages are found
_PATIENCE = 16
_FEW = 256
_DIGITS = bytes([48, 49]) + bytes(254)


class Vocabulary:
    """The words of a block while it is read."""

    def __init__(self) -> None:
        self._offsets: dict[str, array[int]] = {}
        self._words: list[str] = []
        #: The characters of all words
        self.characters = 0

    def add(self, words: Iterable[str], offset: int) -> None:
        """Add the words of a message, each of them once."""
        offsets = self._offsets
        for word in words:
            try:
                offsets[word].append(offset)
            except KeyError:
                offsets[word] = array("H", (offset,))
                self.characters += len(word)

    def frequent(self, number: int) -> set[str]:
        """Return the words that more than so many messages have."""
        return {word for word, offsets in self._offsets.items() if len(offsets) > number}

    def text(self) -> bytes:
        """Return all words, in the order of their rows."""
        self._words = sorted(self._offsets, key=lambda word: (-len(self._offsets[word]), word))
        return "\n".join(["", *self._words, ""]).encode()

    def rows(self) -> Iterator[list[tuple[int, bytes]]]:
        """Yield numbers and contents of rows, some at a time; after `text`."""
        rows: list[tuple[int, bytes]] = []
        for number, start in enumerate(range(0, len(self._words), _WORDS_IN_ROW)):
            words = self._words[start : start + _WORDS_IN_ROW]
            rows.append((number, _row([self._offsets[word] for word in words])))
            if len(rows) == _ROWS_AT_ONCE:
                yield rows
                rows = []
        yield rows


def phrases_of(text: str, frequent: set[str]) -> set[str]:
    """Return what several of the frequent words stand together in, one blank between them."""
    phrases: set[str] = set()
    for line in text.split("\n"):
        words: list[str] = []
        for word in [*line.split(" "), ""]:
            if word in frequent:
                words.append(word)
                continue
            if len(words) > 1:
                phrases.add(" ".join(words))
            words = []
    return phrases


def _row(sets: Sequence[array[int]]) -> bytes:
    ends, content = array("H"), b""
    for offsets in sets:
        is_long = len(offsets) > _MOST_LISTED
        content += bitmap(set_of(offsets)) if is_long else offsets.tobytes()
        ends.append(len(content))
    return ends.tobytes() + bytes(_HEAD_BYTES - 2 * len(ends)) + content


def union(text: bytes, words: bytes, row: Callable[[int], bytes], everything: int) -> int:
    """Return the set of messages of all words that have a text in them.

    `row` returns the content of a row of `words`, `everything` are the messages of the block.
    """
    bits, marks = 0, bytearray(BLOCK_SIZE)
    row_number, content, ends = -1, b"", array("H")
    for matches, index in enumerate(_lines_with(text, words)):
        if row_number != index >> _ROW_BITS:
            row_number = index >> _ROW_BITS
            content = row(row_number)
            ends = array("H", b"\0\0" + content[:_HEAD_BYTES])
        in_row = index & (_WORDS_IN_ROW - 1)
        begin, end = _HEAD_BYTES + ends[in_row], _HEAD_BYTES + ends[in_row + 1]
        if end - begin == 2:
            marks[content[begin] | content[begin + 1] << 8] = 1
        elif end - begin == _BITMAP_BYTES:
            bits |= int.from_bytes(content[begin:end], "little")
        else:
            for offset in array("H", content[begin:end]):
                marks[offset] = 1
        # After 16 words, 32, 64 and so on: the first words are in the most messages
        is_time = matches >= _PATIENCE and matches & (matches - 1) == 0
        if is_time and bits | _of_marks(marks) == everything:
            return everything
    return bits | _of_marks(marks)


def _lines_with(text: bytes, words: bytes) -> Iterator[int]:
    """Yield the numbers of the lines that have a text in them."""
    index, line_start, position = -1, 0, words.find(text)
    for _ in range(_FEW):
        if position < 0:
            return
        index += words.count(b"\n", line_start, position)
        yield index
        line_start = words.find(b"\n", position)
        position = words.find(text, line_start)
    # If so many have it, a look at each line is faster
    lines = words[line_start:].split(b"\n")
    yield from [index + number for number, line in enumerate(lines) if text in line]


def set_of(offsets: Iterable[int]) -> int:
    """Return the set of some offsets: a number with a bit for each."""
    marks = bytearray(BLOCK_SIZE)
    for offset in offsets:
        marks[offset] = 1
    return _of_marks(marks)


def bitmap(bits: int) -> bytes:
    """Return a set as bytes."""
    return bits.to_bytes(_BITMAP_BYTES, "little")


def marks_of(bits: int) -> bytes:
    """Return a set as a text with the digit 1 at each of its offsets, else 0."""
    return format(bits, f"0{BLOCK_SIZE}b")[::-1].encode()


def _of_marks(marks: bytearray) -> int:
    return int(marks.translate(_DIGITS)[::-1], 2)
