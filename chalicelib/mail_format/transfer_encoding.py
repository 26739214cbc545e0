"""Encode content for transfer (RFC 2045 6): 7bit, quoted-printable or base64, at C speed.

Encoded text bodies have CRLF line ends, whatever the line ends of the text. Encoded lines are at
most 76 characters, 7bit lines at most 998 bytes.
"""

import re
import string
from binascii import a2b_base64, b2a_qp
from typing import NamedTuple

LINE_LIMIT = 998
_BASE64_LINE = 76
_BASE64_BLOCK = 1000 * _BASE64_LINE
_ASCII = bytes(range(128))
_BASE64_DIGITS = (string.ascii_letters + string.digits + "+/").encode("ascii")
_NO_BASE64_DIGITS = bytes(set(range(256)) - set(_BASE64_DIGITS))
_BLANKS = b" \t\r\n"
_ENCODED_BLANK = re.compile(rb"=(?:20|09)\r\n")


class EncodedText(NamedTuple):
    """An encoded text body: its Content-Transfer-Encoding and its bytes."""

    encoding: str
    body: bytes


def encode_text(text: str) -> EncodedText:
    """Encode text as UTF-8 with CRLF line ends.

    7bit for ASCII whose lines are short enough, else quoted-printable, whatever the script is. A
    lone surrogate becomes `?`.
    """
    data = normalise_newlines(text.encode("utf-8", "replace"))
    if text.isascii() and is_seven_bit(data):
        return EncodedText("7bit", data)
    return EncodedText("quoted-printable", quoted_printable(data))


def is_seven_bit(data: bytes) -> bool:
    """Tell whether data with CRLF line ends can go over SMTP as it is (RFC 2045 2.7)."""
    return data.isascii() and b"\0" not in data and lines_fit(data)


def normalise_newlines(data: bytes) -> bytes:
    """Return data with every CRLF, lone CR and lone LF as CRLF (spec 2.2); linear, at C speed."""
    if b"\r" in data:
        pairs = data.count(b"\r\n")
        if pairs == data.count(b"\r") == data.count(b"\n"):
            return data
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data.replace(b"\n", b"\r\n")


def quoted_printable(data: bytes) -> bytes:
    """Encode data whose line ends are all CRLF (RFC 2045 6.7).

    `binascii.b2a_qp` has two faults that are repaired here: if the data has no line end, it breaks
    lines with a bare LF; and a blank that it encodes at the end of a full line makes the line 77
    long.
    """
    encoded = b2a_qp(data, istext=True)
    if b"\n" not in data:
        return encoded.replace(b"\n", b"\r\n")
    if b"=20\r\n" in encoded or b"=09\r\n" in encoded:
        return _ENCODED_BLANK.sub(_break_before_blank, encoded)
    return encoded


def wrap_base64(encoded: bytes | str) -> list[bytes]:
    """Divide base64 into lines of 76 characters with CRLF between them, as pieces to be joined.

    Pieces instead of one string, so that a large attachment is copied only once, into its message.
    """
    text = encoded.decode("ascii") if isinstance(encoded, bytes) else encoded
    pieces = []
    for start in range(0, len(text), _BASE64_BLOCK):
        stop = min(start + _BASE64_BLOCK, len(text))
        lines = [text[at : min(at + _BASE64_LINE, stop)] for at in range(start, stop, _BASE64_LINE)]
        if stop < len(text):
            lines.append("")
        pieces.append("\r\n".join(lines).encode("ascii"))
    return pieces


def decode_base64(data: bytes) -> bytes:
    """Decode base64 as mail readers do (RFC 2045 6.8); raises ValueError for what they cannot read.

    Lines of any length, missing padding and what follows the padding are no faults. Other
    characters between are none either, if what remains is complete.
    """
    return a2b_base64(base64_digits(data) + b"==")


def base64_digits(data: bytes) -> bytes:
    """Return the digits of base64 without anything else; raises ValueError as `decode_base64`."""
    encoded, padding, _ = data.partition(b"=")
    digits = encoded.translate(None, _NO_BASE64_DIGITS)
    foreign = encoded.translate(None, _BASE64_DIGITS + _BLANKS)
    missing = -len(digits) % 4
    is_cut = missing == 3 or (missing and foreign and not padding)
    if is_cut or ((padding or foreign) and not digits):
        raise ValueError("incomplete base64")
    return digits


def is_base64(text: str) -> bool:
    """Tell whether text is pure base64: no line ends, complete padding."""
    if len(text) % 4 or text.endswith("==="):  # strict mode lets surplus padding pass
        return False
    try:
        a2b_base64(text, strict_mode=True)
    except ValueError:
        return False
    return True


def lines_fit(data: bytes) -> bool:
    """Tell whether no line passes 998 bytes, looking back for a line end from every 1000th."""
    start = 0
    while len(data) - start > LINE_LIMIT:
        end = data.rfind(b"\r\n", start, start + LINE_LIMIT + 2)
        if end < 0:
            return False
        start = end + 2
    return True


def _break_before_blank(match: re.Match[bytes]) -> bytes:
    start = match.start()
    line_start = match.string.rfind(b"\n", max(0, start - _BASE64_LINE), start) + 1
    if match.end() - 2 - line_start > _BASE64_LINE:
        return b"=\r\n" + match[0]
    return match[0]
