"""Decode the text of a report, in whatever character set it is, piece by piece.

- A byte order mark decides, then the zero bytes of UTF-16 and UTF-32.
- Otherwise it is UTF-8, whatever it calls itself, unless it calls itself by the name of another
  common set and is no UTF-8.
- Bytes that are no text become a replacement character: a report is worth more than a letter.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

_PIECE = 8_192
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # it begins like that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ZEROS = (
    (re.compile(rb"[^\0]\0\0\0"), "utf-32-le"),
    (re.compile(rb"\0\0\0[^\0]"), "utf-32-be"),
    (re.compile(rb"[^\0]\0"), "utf-16-le"),
    (re.compile(rb"\0[^\0]"), "utf-16-be"),
)
_DECLARATION = re.compile(rb"\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*[\"']([\w.-]{1,40})")
#: Others may be no character sets, or their codecs take more than linear time (punycode)
_DECLARED = re.compile(rb"(iso-8859-\d{1,2}|windows-125\d|us-ascii|koi8-[ru])", re.IGNORECASE)


def pieces(content: bytes) -> Iterator[str]:
    """Yield the text of ``content`` without a byte order mark."""
    encoding = _encoding(content)
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for start in range(0, len(content), _PIECE):
        text = decoder.decode(content[start : start + _PIECE])
        yield text if start else text.removeprefix("\ufeff")
    yield decoder.decode(b"", True)


def first_character(content: bytes) -> str:
    """Return the first character that is no blank, empty if there is none."""
    return next(pieces(content[:1_000]), "").lstrip()[:1]


def _encoding(content: bytes) -> str:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    for zeros, encoding in _ZEROS:
        if zeros.match(content):
            return encoding
    declaration = _DECLARATION.match(content)
    declared = declaration and _DECLARED.fullmatch(declaration[1])
    return "utf-8" if not declared or _is_utf8(content) else declared[1].decode()


def _is_utf8(content: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(content), _PIECE):
            decoder.decode(content[start : start + _PIECE])
        decoder.decode(b"", True)
    except UnicodeDecodeError:
        return False
    return True
