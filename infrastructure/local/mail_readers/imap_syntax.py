"""Read the words of IMAP commands, and write strings of responses (RFC 3501 9).

A command is one text in which a literal follows its length and CRLF, as it came. Every reading step
goes forward, so reading takes linear time.
"""

from __future__ import annotations

import base64
import binascii
import re

MOST_NESTING = 20

_ATOM = re.compile(rb'[^\x00-\x20\x7f(){%*"\\]+')
# An astring may have "]", and so may a flag begin with a backslash
_FLAG = re.compile(rb'\\?[^\x00-\x20\x7f(){%*"\\]+')
_PATTERN = re.compile(rb'[^\x00-\x20\x7f(){"\\]+')
_QUOTED = re.compile(rb'"((?:[^"\\\r\n\0]|\\["\\])*+)"')
_ESCAPE = re.compile(rb'\\(["\\])')
_LITERAL = re.compile(rb"\{([0-9]{1,9})\+?\}\r\n")
_NUMBER = re.compile(rb"[0-9]{1,10}")
_PLAIN = re.compile(rb"[\x20-\x7e]{0,1000}")
_SEQUENCE = re.compile(rb"(?:[0-9]{1,10}|\*)(?::(?:[0-9]{1,10}|\*))?")
_SHIFTED = re.compile(r"[^\x20-\x7e]+")
_UNSHIFTED = re.compile(r"&([A-Za-z0-9+,]*)-")

#: Bounds of positions or numbers, None for the last one (`*`)
Ranges = list[tuple[int | None, int | None]]


class BadCommand(Exception):
    """The command cannot be read; the text is for the client."""


class Scanner:
    """Reads a command from its begin to its end; every method raises BadCommand."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._position = 0

    @property
    def is_at_end(self) -> bool:
        """Whether everything is read."""
        return self._position >= len(self._text)

    def skips(self, octets: bytes) -> bool:
        """Skip these octets if they are next; tell whether they were."""
        if not self._text.startswith(octets, self._position):
            return False
        self._position += len(octets)
        return True

    def expect(self, octets: bytes) -> None:
        """Skip these octets."""
        if not self.skips(octets):
            raise BadCommand(f"{octets.decode()!r} expected")

    def end(self) -> None:
        """Require the end."""
        self.skips(b" ")
        if not self.is_at_end:
            raise BadCommand("too many arguments")

    def atom(self) -> str:
        """Return an atom in upper case."""
        return self._match(_ATOM, "a word").decode("latin-1").upper()

    def fetch_name(self) -> str:
        """Return the name of an item of FETCH in upper case, up to its section."""
        return self._match(_FETCH_NAME, "a name of an item").decode("ascii").upper()

    def flag(self) -> str:
        """Return a flag in upper case."""
        return self._match(_FLAG, "a flag").decode("latin-1").upper()

    def number(self) -> int:
        """Return a number."""
        return int(self._match(_NUMBER, "a number"))

    def astring(self) -> bytes:
        """Return an atom or a string."""
        string = self._string()
        return self._match(_ATOM, "a text") if string is None else string

    def pattern(self) -> bytes:
        """Return a pattern of mailboxes, in which `*` and `%` may stand outside a string."""
        string = self._string()
        return self._match(_PATTERN, "a pattern") if string is None else string

    def ranges(self) -> Ranges:
        """Return a set of messages, such as `1:4,7,9:*`."""
        ranges: Ranges = []
        while True:
            first, _, last = self._match(_SEQUENCE, "a set of messages").partition(b":")
            bounds = [None if each == b"*" else int(each) for each in (first, last or first)]
            if 0 in bounds:
                raise BadCommand("messages are counted from 1")
            ranges.append((bounds[0], bounds[1]))
            if not self.skips(b","):
                return ranges

    def is_set(self) -> bool:
        """Tell whether a set of messages is next."""
        return _SEQUENCE.match(self._text, self._position) is not None

    def _string(self) -> bytes | None:
        if match := _LITERAL.match(self._text, self._position):
            start, size = match.end(), int(match[1])
            if start + size > len(self._text):
                raise BadCommand("a literal is cut")
            self._position = start + size
            return self._text[start : self._position]
        if self._text.startswith(b'"', self._position):
            quoted = self._match(_QUOTED, "the end of a quoted string")
            return _ESCAPE.sub(rb"\1", quoted[1:-1])
        return None

    def _match(self, pattern: re.Pattern[bytes], expected: str) -> bytes:
        match = pattern.match(self._text, self._position)
        if match is None:
            raise BadCommand(f"{expected} expected")
        self._position = match.end()
        return match[0]


_FETCH_NAME = re.compile(rb"[A-Za-z0-9.]{1,40}")


def string(octets: bytes | None) -> bytes:
    """Return a string as responses have it: NIL, quoted, or a literal."""
    if octets is None:
        return b"NIL"
    if _PLAIN.fullmatch(octets):
        return b'"' + octets.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
    return literal(octets)


def literal(octets: bytes) -> bytes:
    """Return octets as a literal; it cannot have a NUL, which becomes a space (RFC 3501 4.3)."""
    return b"".join(literal_pieces(octets))


def literal_pieces(octets: bytes) -> tuple[bytes, bytes]:
    """Return the two pieces of a literal."""
    return b"{%d}\r\n" % len(octets), octets.replace(b"\0", b" ")


def mailbox_name(name: str) -> bytes:
    """Return the name of a mailbox as clients see it, in modified UTF-7 (RFC 3501 5.1.3)."""
    text = name.replace("&", "&-")
    return _SHIFTED.sub(_shift, text).encode("ascii")


def read_mailbox_name(octets: bytes) -> str:
    """Return the name of a mailbox that a client wrote; one in UTF-8 is understood too."""
    return _UNSHIFTED.sub(_unshift, octets.decode("utf-8", "replace"))


def _shift(match: re.Match[str]) -> str:
    digits = base64.b64encode(match[0].encode("utf-16-be", "surrogatepass")).decode("ascii")
    return f"&{digits.rstrip('=').replace('/', ',')}-"


def _unshift(match: re.Match[str]) -> str:
    if not match[1]:
        return "&"
    digits = match[1].replace(",", "/")
    try:
        octets = base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except binascii.Error:
        return match[0]
    return octets.decode("utf-16-be", "replace")
