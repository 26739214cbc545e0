"""Search the selected mailbox (RFC 3501 6.4.4).

Flags are in memory; sizes, dates and most texts are in the index (see `imap_text_search`). For
other keys the messages that are left are read, one after the other. Texts are compared decoded, in
any case.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from email.utils import parsedate_tz
from functools import cached_property
from typing import NamedTuple

from chalicelib.mail_format.encoded_words import readable
from chalicelib.mail_format.header_section import split_head
from infrastructure.local.mail_readers import flags
from infrastructure.local.mail_readers.desk import ReadingDesk
from infrastructure.local.mail_readers.imap_selection import Selection
from infrastructure.local.mail_readers.imap_structure import Part
from infrastructure.local.mail_readers.imap_syntax import MOST_NESTING, BadCommand, Scanner
from infrastructure.local.mail_readers.imap_text_search import (
    SearchTexts,
    TextMatches,
    TextSearch,
    field_check,
    search_texts_of,
    texts_of,
)
from infrastructure.local.mail_readers.uid_marks import UidMarks
from infrastructure.local.mailbox.rows import Condition

_MOST_KEYS = 500
_DATE = re.compile(r"([0-9]{1,2})-([A-Za-z]{3})-([0-9]{4})")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_FLAG_KEYS = {
    "ANSWERED": flags.ANSWERED,
    "DELETED": flags.DELETED,
    "DRAFT": flags.DRAFT,
    "FLAGGED": flags.FLAGGED,
    "SEEN": flags.SEEN,
}
#: No message is recent, as with clients that share a mailbox (RFC 3501 2.3.2)
_CONSTANT_KEYS = {"ALL": True, "OLD": True, "RECENT": False, "NEW": False}
_FIELD_KEYS = ("BCC", "CC", "FROM", "TO")
_CHARSETS = ("US-ASCII", "UTF-8")
_IN_MEMORY, _IN_FILE = 0, 1


class BadCharset(Exception):
    """The charset of a search is not known."""


class Candidate:
    """A message that may match; its file is read when a key asks for it."""

    def __init__(self, desk: ReadingDesk, position: int, uid: int, bits: int) -> None:
        self._desk = desk
        self.position = position
        self.uid = uid
        self.bits = bits

    @cached_property
    def _id(self) -> str:
        row = self._desk.numbers.messages([self.uid]).get(self.uid)
        return row.id if row else ""

    @cached_property
    def content(self) -> bytes:
        """The message, empty if it is gone."""
        return self._desk.content(self._id) or b""

    def values(self, name: bytes) -> Iterator[str]:
        """Yield the value of each field of a lower-case name, as people read it."""
        fields = (raw for each, raw in self._fields if each == name)
        return (_readable(raw.partition(b":")[2]) for raw in fields)

    @cached_property
    def _fields(self) -> list[tuple[bytes, bytes]]:
        end = len(self.content)
        return Part(self.content, 0, split_head(self.content, 0, end)[1], end).fields()

    @cached_property
    def texts(self) -> SearchTexts | None:
        """What a search of texts looks at; None if the message is gone."""
        return search_texts_of(self._desk, self._id)


class Key(NamedTuple):
    """A search key: what it costs, and whether a message matches."""

    cost: int
    matches: Callable[[Candidate], bool]


class SearchReader:
    """Reads the keys of a search of a selection; some ask the index, so it blocks."""

    def __init__(self, desk: ReadingDesk, selection: Selection) -> None:
        self._desk = desk
        self._selection = selection
        self._number = 0

    @cached_property
    def _texts(self) -> TextSearch:
        return TextSearch(self._desk, self._selection.scope)

    def read(self, scanner: Scanner) -> Key:
        """Return the one key that a search is; raises BadCommand and BadCharset."""
        if scanner.skips(b"CHARSET ") or scanner.skips(b"charset "):
            if scanner.astring().decode("latin-1").upper() not in _CHARSETS:
                raise BadCharset
            scanner.expect(b" ")
        key = self._all(scanner, 0)
        scanner.end()
        return key

    def _all(self, scanner: Scanner, depth: int) -> Key:
        """Return the conjunction of the keys up to the end or a parenthesis."""
        keys = [self._key(scanner, depth)]
        while scanner.skips(b" "):
            keys.append(self._key(scanner, depth))
        keys.sort(key=lambda each: each.cost)
        return Key(keys[-1].cost, lambda message: all(each.matches(message) for each in keys))

    def _key(self, scanner: Scanner, depth: int) -> Key:
        self._number += 1
        if depth > MOST_NESTING or self._number > _MOST_KEYS:
            raise BadCommand("the search is too long")
        if scanner.skips(b"("):
            key = self._all(scanner, depth + 1)
            scanner.expect(b")")
            return key
        if scanner.is_set():
            return self._key_of_set(scanner, by_uid=False)
        name = scanner.atom()
        if name in _CONSTANT_KEYS:
            is_met = _CONSTANT_KEYS[name]
            return Key(_IN_MEMORY, lambda _: is_met)
        if name in _FLAG_KEYS:
            bit = _FLAG_KEYS[name]
            return Key(_IN_MEMORY, lambda message: bool(message.bits & bit))
        if name.removeprefix("UN") in _FLAG_KEYS:
            bit = _FLAG_KEYS[name.removeprefix("UN")]
            return Key(_IN_MEMORY, lambda message: not message.bits & bit)
        scanner.expect(b" ")
        return self._key_with_arguments(name, scanner, depth)

    def _key_with_arguments(self, name: str, scanner: Scanner, depth: int) -> Key:
        if name == "NOT":
            key = self._key(scanner, depth + 1)
            return Key(key.cost, lambda message: not key.matches(message))
        if name == "OR":
            left = self._key(scanner, depth + 1)
            scanner.expect(b" ")
            right = self._key(scanner, depth + 1)
            left, right = sorted((left, right), key=lambda each: each.cost)
            return Key(right.cost, lambda each: left.matches(each) or right.matches(each))
        if name == "UID":
            return self._key_of_set(scanner, by_uid=True)
        if name in ("KEYWORD", "UNKEYWORD"):
            scanner.flag()
            return Key(_IN_MEMORY, lambda _: name == "UNKEYWORD")
        if name in ("LARGER", "SMALLER"):
            sign = ">" if name == "LARGER" else "<"
            return self._indexed(f"shown_size {sign} ?", scanner.number())
        if name.removeprefix("SENT") in ("BEFORE", "ON", "SINCE"):
            return self._key_of_date(name, _read_date(scanner))
        return self._key_of_text(name, scanner)

    def _key_of_set(self, scanner: Scanner, *, by_uid: bool) -> Key:
        spans = self._selection.spans(scanner.ranges(), by_uid=by_uid)
        lasts = array("q", [last for _, last in spans])

        def is_in(message: Candidate) -> bool:
            place = bisect_left(lasts, message.position)
            return place < len(spans) and spans[place][0] <= message.position

        return Key(_IN_MEMORY, is_in)

    def _key_of_text(self, name: str, scanner: Scanner) -> Key:
        if name == "HEADER":
            name = scanner.astring().decode("latin-1").upper()
            scanner.expect(b" ")
        elif name not in ("SUBJECT", "BODY", "TEXT", *_FIELD_KEYS):
            raise BadCommand(f"there is no key {name}")
        elif name in ("BODY", "TEXT"):
            return self._key_of_body(_folded(scanner), is_text=name == "TEXT")
        text = _folded(scanner)
        if name == "SUBJECT":
            return self._indexed("instr(subjects, ?)", text)
        field, check = name.lower().encode("latin-1"), field_check(name, text)
        matches = self._texts.in_field(name, text)
        if matches is None:
            return Key(_IN_FILE, lambda message: check(list(message.values(field))))
        return _key_of(matches, lambda message: check(list(message.values(field))))

    def _key_of_body(self, text: str, *, is_text: bool) -> Key:
        if not text:
            return Key(_IN_MEMORY, lambda _: True)
        matches = self._texts.in_text(text) if is_text else self._texts.in_body(text)
        return _key_of(matches, lambda message: _has_text(message, text, is_text))

    def _key_of_date(self, name: str, day: date) -> Key:
        if name.startswith("SENT"):
            compare = _COMPARISONS[name.removeprefix("SENT")]
            return Key(_IN_FILE, lambda message: compare(_date_of(message), day))
        start, end = (_id_of(day.toordinal() + days) for days in (0, 1))
        if name == "BEFORE":
            return self._indexed("id < ?", start)
        if name == "SINCE":
            return self._indexed("id >= ?", start)
        return self._indexed("id >= ? AND id < ?", start, end)

    def _indexed(self, sql: str, *values: str | int) -> Key:
        scope = [*self._selection.scope, Condition(sql, values)]
        uids = UidMarks(self._desk.numbers.matching(scope))
        return Key(_IN_MEMORY, lambda message: message.uid in uids)


def matching(
    desk: ReadingDesk, selection: Selection, key: Key, positions: Sequence[int]
) -> list[int]:
    """Return those of these positions whose messages match."""
    uids, bits = selection.uids, selection.bits
    return [
        position
        for position in positions
        if key.matches(Candidate(desk, position, uids[position - 1], bits[position - 1]))
    ]


def _folded(scanner: Scanner) -> str:
    return scanner.astring().decode("utf-8", "replace").casefold()


def _key_of(matches: TextMatches, is_met: Callable[[Candidate], bool]) -> Key:
    """Return the key of what the index tells; `is_met` looks into a file."""
    uids, unsure_uids = UidMarks(matches.uids), UidMarks(matches.unsure_uids)

    def in_either(message: Candidate) -> bool:
        return message.uid in uids or (message.uid in unsure_uids and is_met(message))

    return Key(_IN_FILE if matches.unsure_uids else _IN_MEMORY, in_either)


def _readable(value: bytes) -> str:
    unfolded = value.replace(b"\r", b"").replace(b"\n", b"").decode("utf-8", "replace")
    return readable(unfolded.strip())


def _has_text(message: Candidate, text: str, is_text: bool) -> bool:
    texts = message.texts
    if texts is None:
        return False
    if not is_text:
        return texts_of(text)[0] in texts.body
    return text in texts.header_id or any(
        each in texts.head + texts.body for each in texts_of(text)
    )


def _read_date(scanner: Scanner) -> date:
    text = scanner.astring().decode("latin-1")
    match = _DATE.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        return date(int(match[3]), _MONTHS.index(match[2].lower()) + 1, int(match[1]))
    except ValueError:
        raise BadCommand(f"{text!r} is no date such as 1-Feb-1994") from None


def _date_of(message: Candidate) -> date | None:
    value = next(message.values(b"date"), "")
    parts = parsedate_tz(value[:200])
    try:
        return date(*parts[:3]) if parts else None
    except ValueError:
        return None


_COMPARISONS: dict[str, Callable[[date | None, date], bool]] = {
    "BEFORE": lambda each, day: each is not None and each < day,
    "ON": lambda each, day: each == day,
    "SINCE": lambda each, day: each is not None and each >= day,
}


def _id_of(ordinal: int) -> str:
    """Return what ids of the day begin with at least."""
    days = ordinal - date(1970, 1, 1).toordinal()
    return f"{min(max(days, 0) * 86_400, 9_999_999_999):010d}"
