"""Change single header fields of a message, and leave every other octet as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LINE_END = re.compile(rb"\r?\n")


def without_headers(content: bytes, names: Iterable[str]) -> bytes:
    """Return a message without the fields of these names, folded lines included."""
    head, rest = _split(content)
    lowered = {name.lower().encode() for name in names}
    return b"".join(each for each in _fields(head) if _name(each) not in lowered) + rest


def with_header(content: bytes, name: str, value: str) -> bytes:
    """Return a message with one field of a name, in the place of the first one or at the top."""
    head, rest = _split(content)
    fields = _fields(head)
    line = f"{name}: {value}\r\n".encode()
    places = [index for index, each in enumerate(fields) if _name(each) == name.lower().encode()]
    if not places:
        return line + content
    fields[places[0]] = line
    others = set(places[1:])
    return b"".join(each for index, each in enumerate(fields) if index not in others) + rest


def _split(content: bytes) -> tuple[bytes, bytes]:
    """Return the header section and the rest, which begins with the empty line."""
    position = 0
    while position < len(content):
        end = content.find(b"\n", position)
        if end < 0:
            return content, b""
        if content[position:end] in (b"", b"\r"):
            return content[:position], content[position:]
        position = end + 1
    return content, b""


def _fields(head: bytes) -> list[bytes]:
    """Return the fields with their line ends; a line that is folded belongs to the one before."""
    fields: list[list[bytes]] = []
    for line in _lines(head):
        if line[:1] in (b" ", b"\t") and fields:
            fields[-1].append(line)
        else:
            fields.append([line])
    return [b"".join(each) for each in fields]


def _lines(head: bytes) -> list[bytes]:
    """Return the lines with their ends; a CR alone ends none."""
    ends = [match.end() for match in _LINE_END.finditer(head)]
    if not ends or ends[-1] < len(head):
        ends.append(len(head))
    return [head[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _name(line: bytes) -> bytes:
    return line.partition(b":")[0].strip().lower()
