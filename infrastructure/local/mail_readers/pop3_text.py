"""Write messages as POP3 transfers them (RFC 1939 3), and the tops of messages.

A message may have millions of lines, so nothing here takes a step of Python for each of them.
"""

from __future__ import annotations

_CRLF = b"\r\n"
# So many octets are searched in one step
_WINDOW = 64 * 1024


def transferred(content: bytes) -> bytes:
    """Return a text with a dot more before each line that begins with one, and the last line."""
    text = content.replace(b"\n.", b"\n..")
    return b"".join(
        (
            b"." if text.startswith(b".") else b"",
            text,
            b".\r\n" if text.endswith(_CRLF) else b"\r\n.\r\n",
        )
    )


def top_of(content: bytes, most: int) -> bytes:
    """Return the header section of a message, and at most so many lines of its body."""
    head_end = content.find(b"\r\n\r\n")
    if head_end < 0:
        return content
    body_start = head_end + 4
    return content[: _end_of_lines(content, body_start, most)]


def _end_of_lines(content: bytes, start: int, most: int) -> int:
    """Return where so many lines end, or the end of the text if it has no more of them."""
    while most > 0 and start < len(content):
        end = min(start + _WINDOW, len(content))
        lines = content.count(_CRLF, start, end)
        if lines >= most:
            return _end_of_few_lines(content, start, most)
        most -= lines
        # A line end may be half in this window
        start = end - 1 if end < len(content) and content[end - 1] == _CRLF[0] else end
    return start


def _end_of_few_lines(content: bytes, start: int, most: int) -> int:
    for _ in range(most):
        start = content.find(_CRLF, start) + len(_CRLF)
    return start
