"""Parse the MIME tree of a message, without recursion and in linear time.

Parts are spans of the message in document order, the message itself first. A multipart is divided
at its own delimiter lines from the outside in, so no inner part can hide an outer delimiter. A
structure that a mail reader would have to guess is refused, and so are nesting and numbers of parts
that no honest message has. Messages inside message/rfc822 parts are not entered.
"""

import re
from typing import Final, NamedTuple

from chalicelib.mail_format.header_section import MessageError, header_fields, split_head

MAX_DEPTH = 32
MAX_PARTS = 1000

_MEDIA_TYPE = re.compile(r"[ \t]*([!#-'*+\-.0-9A-Z^-~]+/[!#-'*+\-.0-9A-Z^-~]+)")
_PARAMETER = re.compile(
    r'[ \t]*;[ \t]*(?:([!#-\'*+\-.0-9A-Z^-~]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*+)"|([^\s;"]+)))?',
    re.ASCII,  # the text is raw octets
)
_BOUNDARY = re.compile(r"[ -~]{0,69}[!-~]")
#: Transfer encodings that leave a body as it is (RFC 2045 6.2)
IDENTITY: Final = frozenset({"", "7bit", "8bit", "binary"})


class MimePart(NamedTuple):
    """One node of the tree: its span in the message, and its content header fields.

    `content_type`, `encoding` and `disposition` are in lower case, the latter two empty when
    absent; `parent` indexes the list of parts. The body is `message[body_start:end]`.
    """

    parent: int | None
    depth: int
    start: int
    body_start: int
    end: int
    content_type: str
    parameters: dict[str, str]
    encoding: str
    disposition: str


def parse_tree(message: bytes) -> list[MimePart]:
    """Return the parts of a message with CRLF line ends, each before its children.

    Raises MessageError on a malformed header line, a repeated or contradictory content header,
    a multipart without boundary, opening or closing delimiter, and on the limits above.
    """
    parts: list[MimePart] = []
    pending: list[tuple[int | None, int, int, str]] = [(None, 0, len(message), "text/plain")]
    while pending:
        parent, start, end, default = pending.pop()
        part = _read_part(message, parts, parent, start, end, default)
        parts.append(part)
        if part.content_type.startswith("multipart/"):
            inner = "message/rfc822" if part.content_type == "multipart/digest" else "text/plain"
            spans = _cut(message, part)
            if len(parts) + len(pending) + len(spans) > MAX_PARTS:
                raise MessageError(f"the message has more than {MAX_PARTS} parts")
            pending += [(len(parts) - 1, *span, inner) for span in reversed(spans)]
    return parts


def readable_tree(message: bytes) -> list[MimePart]:
    """Return the parts of a message, none if they cannot be told apart."""
    try:
        return parse_tree(message)
    except MessageError:
        return []


def media_type(value: str) -> str:
    """Return the type in the value of a Content-Type field, in lower case; empty if there is none.

    >>> media_type("Text/HTML; charset=utf-8")
    'text/html'
    """
    match = _MEDIA_TYPE.match(value)
    return match[1].lower() if match else ""


def _read_part(
    message: bytes, parts: list[MimePart], parent: int | None, start: int, end: int, default: str
) -> MimePart:
    depth = 0 if parent is None else parts[parent].depth + 1
    if depth > MAX_DEPTH:
        raise MessageError(f"multiparts are nested more than {MAX_DEPTH} deep")
    head_end, body_start = split_head(message, start, end)
    content: dict[str, str] = {}
    for name, raw in header_fields(message, start, head_end):
        if name in ("content-type", "content-transfer-encoding", "content-disposition"):
            if name in content:
                raise MessageError(f"a part has more than one {name} header")
            content[name] = raw.decode("latin-1").partition(":")[2].replace("\r\n", "")
    content_type, parameters = _read_content_type(content.get("content-type", ""), default)
    return MimePart(
        parent,
        depth,
        start,
        body_start,
        end,
        content_type,
        parameters,
        content.get("content-transfer-encoding", "").strip(" \t").lower(),
        content.get("content-disposition", "").partition(";")[0].strip(" \t").lower(),
    )


def _read_content_type(value: str, default: str) -> tuple[str, dict[str, str]]:
    """Read type and parameters up to the first malformed one; without a type, use the default."""
    media_type = _MEDIA_TYPE.match(value)
    if not media_type:
        return default, {}
    parameters: dict[str, str] = {}
    at = media_type.end()
    while parameter := _PARAMETER.match(value, at):
        name, quoted, token = parameter.groups()
        if name:
            text = token if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            parameters.setdefault(name.lower(), text)
        at = parameter.end()
    return media_type[1].lower(), parameters


def _cut(message: bytes, part: MimePart) -> list[tuple[int, int]]:
    """Return the spans between the delimiter lines of a multipart (RFC 2046 5.1.1)."""
    if part.encoding not in IDENTITY:
        raise MessageError(f"{part.content_type} cannot be encoded as {part.encoding}")
    boundary = part.parameters.get("boundary", "")
    if not _BOUNDARY.fullmatch(boundary):
        raise MessageError(f"{part.content_type} has no valid boundary")
    delimiter = re.compile(
        rb"\r\n--" + re.escape(boundary.encode("ascii")) + rb"(--)?[ \t]*(?=\r\n|\Z)"
    )
    spans: list[tuple[int, int]] = []
    start = None
    for match in delimiter.finditer(message, max(part.body_start - 2, 0), part.end):
        if start is not None:
            spans.append((min(start, match.start()), match.start()))
        elif match[1]:
            break
        if match[1] or len(spans) > MAX_PARTS:
            return spans
        start = match.end() + 2
    missing = "opening" if start is None else "closing"
    raise MessageError(f"{missing} delimiter of boundary {boundary!r} not found")
