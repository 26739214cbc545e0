"""Read what a client asks of messages by FETCH, and write it (RFC 3501 6.4.5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

from infrastructure.local.mail_readers import flags
from infrastructure.local.mail_readers.imap_structure import Part, envelope, parse, structure
from infrastructure.local.mail_readers.imap_syntax import (
    BadCommand,
    Scanner,
    literal_pieces,
    string,
)
from infrastructure.local.mailbox.numbers import NumberedMessage

_MACROS = {
    "ALL": ("FLAGS", "INTERNALDATE", "RFC822.SIZE", "ENVELOPE"),
    "FAST": ("FLAGS", "INTERNALDATE", "RFC822.SIZE"),
    "FULL": ("FLAGS", "INTERNALDATE", "RFC822.SIZE", "ENVELOPE", "BODY"),
}
#: Items that the index knows, and those that it does not
_OF_INDEX = frozenset({"FLAGS", "UID", "INTERNALDATE", "RFC822.SIZE"})
_OF_CONTENT = frozenset(
    {"ENVELOPE", "BODY", "BODYSTRUCTURE", "RFC822", "RFC822.HEADER", "RFC822.TEXT"}
)
_MOST_ITEMS = 100
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_SECTION = re.compile(
    r"((?:[1-9][0-9]{0,4}\.){0,20}[1-9][0-9]{0,4})?(?:(?:^|(?<=[0-9])\.)"
    r"(HEADER|HEADER\.FIELDS|HEADER\.FIELDS\.NOT|TEXT|MIME))?"
)


class Section(NamedTuple):
    """A part of a message's text: which octets of which part."""

    path: tuple[int, ...] = ()
    kind: str = ""
    fields: tuple[bytes, ...] = ()
    first: int = 0
    most: int | None = None


class FetchItem(NamedTuple):
    """An item to fetch; `label` is its name in the response."""

    name: str
    label: bytes
    section: Section | None = None
    marks_seen: bool = False

    @property
    def needs_content(self) -> bool:
        """Whether the message's file must be read."""
        return self.name not in _OF_INDEX


class Message:
    """A message of which items are fetched; `content` is empty if no item needs it."""

    def __init__(self, row: NumberedMessage, bits: int, content: bytes) -> None:
        self.row = row
        self.bits = bits
        self.content = content

    @cached_property
    def tree(self) -> Part:
        """The parts."""
        return parse(self.content)


def read_items(scanner: Scanner) -> list[FetchItem]:
    """Read the items of a FETCH; raises BadCommand."""
    if not scanner.skips(b"("):
        item = _read_item(scanner, has_macros=True)
        scanner.end()
        return item
    items = _read_item(scanner)
    while not scanner.skips(b")"):
        scanner.expect(b" ")
        items += _read_item(scanner)
        if len(items) > _MOST_ITEMS:
            raise BadCommand("too many items")
    scanner.end()
    return items


def _read_item(scanner: Scanner, *, has_macros: bool = False) -> list[FetchItem]:
    name = scanner.fetch_name()
    if has_macros and name in _MACROS:
        return [FetchItem(each, each.encode()) for each in _MACROS[name]]
    if name in ("BODY", "BODY.PEEK") and scanner.skips(b"["):
        return [_read_section(scanner, marks_seen=name == "BODY")]
    if name not in _OF_INDEX | _OF_CONTENT:
        raise BadCommand(f"there is no item {name}")
    return [FetchItem(name, name.encode(), marks_seen=name in ("RFC822", "RFC822.TEXT"))]


def _read_section(scanner: Scanner, *, marks_seen: bool) -> FetchItem:
    text = "" if scanner.skips(b"]") else scanner.fetch_name()
    match = _SECTION.fullmatch(text)
    if match is None or (match[2] == "MIME" and not match[1]):
        raise BadCommand(f"there is no section {text}")
    path = tuple(map(int, match[1].split("."))) if match[1] else ()
    fields: list[bytes] = []
    label = text.encode()
    if match[2] and match[2].startswith("HEADER.FIELDS"):
        scanner.expect(b" (")
        fields.append(scanner.astring())
        while scanner.skips(b" "):
            fields.append(scanner.astring())
        scanner.expect(b")")
        label += b" (%b)" % b" ".join(map(_field_label, fields))
    if text:
        scanner.expect(b"]")
    section = Section(path, match[2] or "", tuple(each.lower() for each in fields))
    label = b"BODY[%b]" % label
    if scanner.skips(b"<"):
        first = scanner.number()
        scanner.expect(b".")
        section = section._replace(first=first, most=scanner.number())
        scanner.expect(b">")
        label += b"<%d>" % first
    return FetchItem("BODY[]", label, section, marks_seen)


def _field_label(name: bytes) -> bytes:
    return name if re.fullmatch(rb"[!-'*-9;-Z^-z|~]+", name) else string(name)


def written(items: list[FetchItem], position: int, message: Message) -> Iterator[bytes]:
    """Yield the response for a message at a position, in pieces that are made when asked for."""
    yield b"* %d FETCH (" % position
    for number, item in enumerate(items):
        yield (b" " if number else b"") + item.label + b" "
        yield from _value(item, message)
    yield b")\r\n"


def _value(item: FetchItem, message: Message) -> Iterator[bytes]:
    if item.section is not None:
        octets = octets_of(message.tree, item.section)
    elif item.name in _TEXTS:
        octets = _TEXTS[item.name](message)
    else:
        yield _VALUES[item.name](message)
        return
    # Not one text, which would be a copy of what may be large
    yield from (b"NIL",) if octets is None else literal_pieces(octets)


def octets_of(tree: Part, section: Section) -> bytes | None:
    """Return the octets of a section of a message, None if there is none."""
    octets = _whole_section(tree, section)
    if octets is None or section.most is None:
        return octets
    return octets[section.first : section.first + section.most]


def _whole_section(tree: Part, section: Section) -> bytes | None:
    part = tree.part(section.path)
    if part is None:
        return None
    if section.kind == "MIME":
        return part.head
    if not section.kind:
        return part.body if section.path else part.content
    message = part.message if section.path else part
    if message is None:
        return None
    if section.kind == "TEXT":
        return message.body
    if section.kind == "HEADER":
        return message.head
    is_excluding = section.kind == "HEADER.FIELDS.NOT"
    fields = (raw for name, raw in message.fields() if (name in section.fields) != is_excluding)
    return b"".join(fields) + b"\r\n"


def internal_date(message_id: str) -> str:
    """Return when a message came, which its id begins with."""
    moment = datetime.fromtimestamp(int(message_id.partition(".")[0]), UTC)
    return f"{moment:%d}-{_MONTHS[moment.month - 1]}-{moment:%Y %H:%M:%S} +0000"


_VALUES = {
    "FLAGS": lambda message: flags.text(message.bits).encode(),
    "UID": lambda message: b"%d" % message.row.uid,
    "INTERNALDATE": lambda message: b'"%b"' % internal_date(message.row.id).encode(),
    "RFC822.SIZE": lambda message: b"%d" % message.row.size,
    "ENVELOPE": lambda message: envelope(message.tree),
    "BODY": lambda message: structure(message.tree, has_extensions=False),
    "BODYSTRUCTURE": lambda message: structure(message.tree, has_extensions=True),
}
_TEXTS = {
    "RFC822": lambda message: message.content,
    "RFC822.HEADER": lambda message: message.tree.head,
    "RFC822.TEXT": lambda message: message.tree.body,
}
