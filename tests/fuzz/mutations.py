"""Make hostile inputs from real ones: cut, repeat, replace and mix them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

#: Octets that mean something in most formats
COMMON = (
    *(b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b"\r\n.\r\n", b"\r\n\r\n", b"--", b"\xff"),
    *(
        b'"',
        b"'",
        b"\\",
        b"(",
        b")",
        b"<",
        b">",
        b"[",
        b"]",
        b"{",
        b"}",
        b"=?",
        b"?=",
        b"%",
        b"%00",
    ),
    *(
        b";",
        b":",
        b",",
        b".",
        b"@",
        b"=",
        b"&",
        b"#",
        b"-1",
        b"0",
        b"1e999",
        b"4294967296",
        b"null",
    ),
    *("ü".encode(), "\u202e".encode(), b"\xed\xa0\x80", b"\xc0\xaf", b"\xef\xbb\xbf"),
)
_MOST_REPEATS = 2000


def mutated(seeds: Sequence[bytes], tokens: Sequence[bytes] = ()) -> st.SearchStrategy[bytes]:
    """Return inputs that differ from one of ``seeds`` in a few places.

    ``tokens`` are words of the format, which are put in beside :data:`COMMON`.
    """
    piece = st.sampled_from([*COMMON, *tokens]) | st.binary(max_size=8) | st.sampled_from(seeds)
    place = st.integers(0, 1 << 20)
    change = st.tuples(st.sampled_from(("insert", "replace", "cut", "repeat")), place, place, piece)
    return st.builds(_mutate, st.sampled_from(seeds), st.lists(change, max_size=6)) | st.binary(
        max_size=60
    )


def _mutate(seed: bytes, changes: list[tuple[str, int, int, bytes]]) -> bytes:
    data = seed
    for kind, first, second, piece in changes:
        start = first % (len(data) + 1)
        length = second % 40
        if kind == "insert":
            data = data[:start] + piece + data[start:]
        elif kind == "replace":
            data = data[:start] + piece + data[start + length :]
        elif kind == "cut":
            data = data[:start] + data[start + length :]
        else:
            times = second % _MOST_REPEATS // (len(piece) + 1)
            data = data[:start] + piece * times + data[start:]
    return data
