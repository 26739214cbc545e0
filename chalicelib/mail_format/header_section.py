"""Read header sections of messages and parts, strictly and in linear time.

A line that is not a header field by RFC 5322 2.2 is refused, not skipped. Mail programs disagree on
such lines, and header smuggling uses lines that one program takes for a field and another for text.
"""

import re

Field = tuple[str, bytes]
"""The lower-case name of a field, and its raw bytes with folding and final CRLF."""

_FIELD_END = re.compile(rb"\r\n(?![ \t])")
_FIELD_NAME = re.compile(rb"[!-9;-~]+")


class MessageError(ValueError):
    """A message that must not be sent as it is; the text tells the fault."""


def split_head(message: bytes, start: int, end: int) -> tuple[int, int]:
    """Return where the header section of this span ends, past its last CRLF, and the body starts.

    Without a blank line the whole span is header section and the body is empty.
    """
    if message.startswith(b"\r\n", start, end):
        return start, start + 2
    blank = message.find(b"\r\n\r\n", start, end)
    return (end, end) if blank < 0 else (blank + 2, blank + 4)


def header_fields(message: bytes, start: int, end: int) -> list[Field]:
    """Return the fields of a header section.

    Raises MessageError on a line that is neither a field nor the continuation of one.
    """
    head = message[start:end]
    if not head:
        return []
    fields = []
    for raw in _FIELD_END.split(head.removesuffix(b"\r\n")):
        name, colon, value = raw.partition(b":")
        bare_end = raw.count(b"\r\n") != raw.count(b"\n") or raw.count(b"\r") != raw.count(b"\n")
        if not colon or not _FIELD_NAME.fullmatch(name) or b"\0" in value or bare_end:
            raise MessageError(f"malformed header line {raw[:60].decode('ascii', 'replace')!r}")
        fields.append((name.decode("ascii").lower(), raw + b"\r\n"))
    return fields
