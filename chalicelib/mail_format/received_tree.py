"""Find the parts of a message from a stranger, however broken it is.

The parts are spans of the message, which may be a mapped file of any size: nothing but header
sections is copied. Nothing here raises, recurses without bound or takes more than linear time. Line
ends may be CRLF or LF. (``mime_tree`` refuses what this module guesses: it reads what customers
send.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from chalicelib.core.spool import Octets
from chalicelib.mail_format.received_fields import MOST_BYTES, MOST_FIELDS, Fields
from chalicelib.mail_format.received_parameters import parameters_of

_MEDIA_TYPE = re.compile(r"\s*([\w.+-]{1,70}/[\w.+-]{1,70})", re.ASCII)
_BOUNDARY = re.compile(r'\bboundary\s*=\s*(?:"([^"]{1,200})"|([^\s;"]{1,200}))', re.IGNORECASE)
_LONGEST_BOUNDARY: Final = 200
_HEAD_END = re.compile(rb"\n\r?\n")
_BLANK_LINE = re.compile(rb"\r?\n")
_USUAL_DELIMITER = re.compile(rb"^(--[^\s]{1,200})\r?\nContent-[A-Z]", re.MULTILINE | re.IGNORECASE)
#: Octets of a multipart in which the delimiter is looked for that its header does not name
_GUESS_BYTES: Final = 512 * 1024
#: Delimiter lines of a multipart with nothing between them; each takes time, but makes no part
_MOST_EMPTY: Final = 500


class TreeLimits(NamedTuple):
    """What is beyond these limits is left out, or stays in one part."""

    parts: int
    depth: int
    header_bytes: int = MOST_BYTES
    fields: int = MOST_FIELDS


class PartSpan(NamedTuple):
    """A part that is no multipart: its body is ``octets[start:end]``."""

    fields: Fields
    content_type: str
    start: int
    end: int


class _Entity(NamedTuple):
    start: int
    end: int
    depth: int
    default: str


def read(octets: Octets, limits: TreeLimits) -> tuple[Fields, list[PartSpan]]:
    """Return the header fields of a message, and its parts in order (at least one)."""
    top: Fields | None = None
    parts: list[PartSpan] = []
    pending = [_Entity(0, len(octets), 1, "text/plain")]
    while pending and len(parts) < limits.parts:
        entity = pending.pop()
        fields, body = _head(octets, entity, limits)
        top = fields if top is None else top
        content_type, boundary = _content_type(fields, entity.default)
        if boundary is None or entity.depth > limits.depth:
            parts.append(PartSpan(fields, content_type, body, entity.end))
            continue
        most = limits.parts - len(parts)
        spans = _cut(octets, body, entity.end, _delimiter(octets, body, entity.end, boundary), most)
        if not spans:
            parts.append(PartSpan(fields, "text/plain", body, entity.end))
        inner = "message/rfc822" if content_type == "multipart/digest" else "text/plain"
        pending += [_Entity(*span, entity.depth + 1, inner) for span in reversed(spans)]
    return top or Fields(b""), parts


def _head(octets: Octets, entity: _Entity, limits: TreeLimits) -> tuple[Fields, int]:
    """Return the header fields of an entity, and where its body starts."""
    if blank := _BLANK_LINE.match(octets, entity.start, entity.end):
        return Fields(b""), blank.end()
    match = _HEAD_END.search(octets, entity.start, entity.end)
    head_end, body = (match.start(), match.end()) if match else (entity.end, entity.end)
    section = octets[entity.start : min(head_end, entity.start + limits.header_bytes)]
    return Fields(section, limits.header_bytes, limits.fields), body


def _content_type(fields: Fields, default: str) -> tuple[str, str | None]:
    """Return the type of an entity, and the boundary if it is a multipart that has one."""
    header = fields.first("content-type")
    media_type = _MEDIA_TYPE.match(header)
    content_type = media_type[1].lower() if media_type else default
    if not content_type.startswith("multipart/"):
        return content_type, None
    if match := _BOUNDARY.search(header):
        return content_type, (match[1] or match[2]).rstrip()
    boundary = parameters_of(header).get("boundary", "")
    return content_type, boundary.rstrip()[:_LONGEST_BOUNDARY] or None


def _delimiter(octets: Octets, start: int, end: int, boundary: str) -> bytes:
    """Return the beginning of delimiter lines; a wrong boundary is replaced by the one in use."""
    delimiter = b"--" + boundary.encode("utf-8", "replace")
    if re.compile(re.escape(delimiter)).search(octets, start, end):
        return delimiter
    usual = _USUAL_DELIMITER.search(octets, start, min(end, start + _GUESS_BYTES))
    return usual[1] if usual else delimiter


def _cut(
    octets: Octets, start: int, end: int, delimiter: bytes, most: int
) -> list[tuple[int, int]]:
    """Return the spans between delimiter lines; without a last line, the last one is to the end.

    The line end before a delimiter line belongs to the delimiter (RFC 2046 5.1.1).
    """
    spans: list[tuple[int, int]] = []
    at: int | None = None
    lines = _delimiter_lines(octets, start, end, delimiter)
    for before, after, is_last in islice(lines, most + _MOST_EMPTY):
        # Between lines that follow on each other there is no part
        if at is not None and before >= at:
            if before > at and octets[before - 1 : before] == b"\r":
                before -= 1
            spans.append((at, before))
        if is_last or len(spans) >= most:
            return spans
        at = after
    return spans if at is None else [*spans, (at, end)]


def _delimiter_lines(
    octets: Octets, start: int, end: int, delimiter: bytes
) -> Iterator[tuple[int, int, bool]]:
    """Yield where each delimiter line starts (with the LF before it) and ends, and if it is last.

    The pattern begins with literal octets, so that they are searched for at the speed of memory.
    """
    rest = re.escape(delimiter) + rb"(--)?[ \t]*+(?:\r?\n|\r?\Z)"
    line = re.compile(rb"\n" + rest)
    match = re.compile(rest).match(octets, start, end) or line.search(octets, start, end)
    while match:
        yield match.start(), match.end(), bool(match[1])
        match = line.search(octets, match.end() - 1, end)
