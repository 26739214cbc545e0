"""Unpack Deflate64, which zip files of Windows may have and no module of Python reads.

It is Deflate (RFC 1951) with a window of 64 KB: two more distances, and longer copies. The decoder
is that of RFC 1951 3.2, symbol by symbol, so what it unpacks is limited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

MOST_BYTES = 1024 * 1024
"""Bytes that a file may have when it is unpacked."""

METHOD = 9
"""The number of the method in a zip file."""

_PIECE = 8
#: Each has a code of its own, which takes as long to read as thousands of bytes
_MOST_BLOCKS = 1_000
_END_OF_BLOCK = 256
_LENGTH_CODES = 286
_ORDER_OF_CODE_LENGTHS = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)

_LENGTH_BITS = (*[0] * 8, *(bits for bits in range(1, 6) for _ in range(4)), 16)
_LENGTHS = (*accumulate((1 << bits for bits in _LENGTH_BITS[:27]), initial=3), 3)
_DISTANCE_BITS = (0, 0, *(bits for bits in range(15) for _ in range(2)))
_DISTANCES = tuple(accumulate((1 << bits for bits in _DISTANCE_BITS[:31]), initial=1))


class Damaged(ValueError):
    """The data is no Deflate64, or unpacks to more than ``MOST_BYTES``."""


def unpack(data: bytes) -> bytes:
    """Return what the data unpacks to; raises :class:`Damaged`."""
    bits, output = _Bits(data), bytearray()
    for _ in range(_MOST_BLOCKS):
        is_last, kind = bits.take(1), bits.take(2)
        if kind == 0:
            output += bits.stored_block()
            _check_size(output)
        elif kind == 3:
            raise Damaged("a block has no kind")
        else:
            lengths, distances = _FIXED if kind == 1 else _dynamic_codes(bits)
            _unpack_block(bits, lengths, distances, output)
        if is_last:
            return bytes(output)
    raise Damaged("it has too many blocks")


class _Bits:
    """Reads bits, the lowest of each byte first."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0
        self._value = 0
        self._count = 0

    def take(self, count: int) -> int:
        """Return the next ``count`` bits as a number."""
        number = self.next(count)
        self.drop(count)
        return number

    def next(self, count: int) -> int:
        """Return the next ``count`` bits, and zeros after the end, without taking them."""
        if self._count < count:
            piece = self._data[self._position : self._position + _PIECE]
            self._value |= int.from_bytes(piece, "little") << self._count
            self._position += len(piece)
            self._count += 8 * len(piece)
        return self._value & ((1 << count) - 1)

    def drop(self, count: int) -> None:
        """Take ``count`` bits that were looked at."""
        self._value >>= count
        self._count -= count
        if self._count < 0:
            raise Damaged("it is cut short")

    def stored_block(self) -> bytes:
        """Return a block that is not compressed; it begins at the next byte."""
        self.drop(self._count % 8)
        size, complement = self.take(16), self.take(16)
        if size ^ complement != 0xFFFF:
            raise Damaged("a block has no size")
        start = self._position - self._count // 8
        block = self._data[start : start + size]
        self._position, self._value, self._count = start + size, 0, 0
        if len(block) < size:
            raise Damaged("it is cut short")
        return block


class _Code:
    """A Huffman code, given by the length of each symbol's code word (RFC 1951 3.2.2).

    Its table has, for each value of the next bits, the symbol that they begin with (shifted by four
    bits) and the length of its code word.
    """

    def __init__(self, lengths: Sequence[int]) -> None:
        self._width = max(lengths, default=0)
        self._table = [0] * (1 << self._width)
        word = 0
        for length in range(1, self._width + 1):
            for symbol in (symbol for symbol, each in enumerate(lengths) if each == length):
                if word >> length:
                    raise Damaged("a code has too many words")
                start = int(f"{word:0{length}b}"[::-1], 2)
                places = 1 << self._width - length
                self._table[start :: 1 << length] = [symbol << 4 | length] * places
                word += 1
            word <<= 1

    def read(self, bits: _Bits) -> int:
        """Return the next symbol."""
        entry = self._table[bits.next(self._width)]
        if not entry:
            raise Damaged("a code word stands for nothing")
        bits.drop(entry & 15)
        return entry >> 4


_FIXED = (_Code([8] * 144 + [9] * 112 + [7] * 24 + [8] * 8), _Code([5] * 32))


def _dynamic_codes(bits: _Bits) -> tuple[_Code, _Code]:
    lengths, distances, own = bits.take(5) + 257, bits.take(5) + 1, bits.take(4) + 4
    code_lengths = [0] * 19
    for place in _ORDER_OF_CODE_LENGTHS[:own]:
        code_lengths[place] = bits.take(3)
    words = list(_word_lengths(bits, _Code(code_lengths), lengths + distances))
    return _Code(words[:lengths]), _Code(words[lengths:])


def _word_lengths(bits: _Bits, code: _Code, count: int) -> Iterator[int]:
    """Yield the lengths of code words, which are run-length coded."""
    last = 0
    while count > 0:
        symbol, times = code.read(bits), 1
        if symbol == 16:
            times = 3 + bits.take(2)
        else:
            last = symbol if symbol < 16 else 0
            times = 3 + bits.take(3) if symbol == 17 else 11 + bits.take(7) if symbol == 18 else 1
        yield from [last] * min(times, count)
        count -= times


def _unpack_block(bits: _Bits, lengths: _Code, distances: _Code, output: bytearray) -> None:
    while (symbol := lengths.read(bits)) != _END_OF_BLOCK:
        if symbol < _END_OF_BLOCK:
            output.append(symbol)
        elif symbol < _LENGTH_CODES:
            place = symbol - _END_OF_BLOCK - 1
            length = _LENGTHS[place] + bits.take(_LENGTH_BITS[place])
            place = distances.read(bits)
            _copy(output, _DISTANCES[place] + bits.take(_DISTANCE_BITS[place]), length)
        else:
            raise Damaged("a copy has no length")
        _check_size(output)


def _copy(output: bytearray, distance: int, length: int) -> None:
    if distance > len(output):
        raise Damaged("a copy begins before the data")
    start = len(output) - distance
    times, rest = divmod(length, distance)
    repeated = output[start:]
    output += repeated * times + repeated[:rest]


def _check_size(output: bytearray) -> None:
    if len(output) > MOST_BYTES:
        raise Damaged("it is too large")
