"""Find messages by their texts for IMAP: in the index, or in the file where that has too little.

- A message is looked for in its file if it has no details yet, if its field is more than addresses
  (such as a group or a comment), or if its text is longer than what the index has of it.
- Addresses of a header are compared without brackets, quotes and commas, as the envelope of a
  message has none (RFC 3501 7.4.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from infrastructure.local.mail_readers.desk import ReadingDesk
from infrastructure.local.mailbox.rows import UNUSUAL_BITS, UNUSUAL_TEXT, Condition
from infrastructure.local.mailbox.search_texts import address_lines, search_head, without_marks
from infrastructure.local.messages.message_details import details_of, readable_text, search_body
from infrastructure.local.messages.parts import StoredMessage

_COLUMNS = {"FROM": ("froms", "From"), "TO": ("tos", "To"), "CC": ("ccs", "Cc")}
_BLANKS = re.compile(r"\s+")
_ALL = 1 << 62
_HEAD_COLUMNS = (
    *("subjects", "senders", "recipients"),
    *("froms", "tos", "ccs", "bccs", "reply_tos"),
)
_IN_HEAD = " OR ".join(f"instr({column}, ?)" for column in _HEAD_COLUMNS)
_IN_BODY = (
    "instr(substr((SELECT text FROM extra.search_texts AS whole"
    " WHERE whole.uid = search_fields.uid), body_start + 1), ?)"
)


class TextMatches(NamedTuple):
    """The uids of messages that have a text, and those whose files have to be looked at."""

    uids: set[int]
    unsure_uids: set[int]


class SearchTexts(NamedTuple):
    """What the search text of a message has, casefolded, without any cut."""

    head: str
    header_id: str
    body: str


class TextSearch:
    """Asks the index of the mailbox for the messages of a scope; it blocks."""

    def __init__(self, desk: ReadingDesk, scope: list[Condition]) -> None:
        self._index = desk.mailbox.index
        self._scope = scope
        # Before any search, so that details which come meanwhile lose nothing
        self._undetailed = {uid for uid, _ in self._index.undetailed(None, _ALL)}

    def in_field(self, name: str, text: str) -> TextMatches | None:
        """Return the messages with a casefolded text in a field; None if it is not indexed."""
        if name in _COLUMNS:
            column, title = _COLUMNS[name]
            return self._in_column(column, UNUSUAL_BITS[title], without_marks(text))
        if name == "BCC":
            unsure = self._where(f"unusual AND unusual & {UNUSUAL_BITS['Bcc']}")
            return TextMatches(set(), unsure | self._undetailed)
        if name == "MESSAGE-ID":
            bit = UNUSUAL_BITS["Message-ID"]
            return self._in_column("header_ids", bit, text, "'<' || header_ids || '>'")
        return None

    def in_text(self, text: str) -> TextMatches:
        """Return the messages with a text in the search text, or in the Message-ID."""
        uids = self._in_search_text(*texts_of(text))
        uids |= self._where("header_ids <> '' AND instr('<' || header_ids || '>', ?)", text)
        return self._with_long_texts(uids)

    def in_body(self, text: str) -> TextMatches:
        """Return the messages with a text in what people read, or in the name of a file."""
        text = texts_of(text)[0]
        uids = self._in_search_text(text)
        heads = [text] * len(_HEAD_COLUMNS)
        if uids and uids & self._where(_IN_HEAD, *heads):
            uids -= self._where(f"({_IN_HEAD}) AND NOT {_IN_BODY}", *heads, text)
        return self._with_long_texts(uids)

    def _in_column(self, column: str, bit: int, text: str, value: str = "") -> TextMatches:
        uids = self._where(f"{column} <> '' AND instr({value or column}, ?)", text)
        unsure = self._where(f"unusual AND unusual & {bit}") | self._undetailed
        return TextMatches(uids - unsure, unsure)

    def _with_long_texts(self, uids: set[int]) -> TextMatches:
        unsure = self._where(f"unusual AND unusual & {UNUSUAL_TEXT}") | self._undetailed
        return TextMatches(uids - unsure, unsure)

    def _in_search_text(self, *texts: str) -> set[int]:
        return set(self._index.uids([*self._scope, Condition("", texts=texts)]))

    def _where(self, sql: str, *values: str) -> set[int]:
        condition = Condition(sql, values, in_fields=True)
        return set(self._index.uids([*self._scope, condition]))


def texts_of(text: str) -> tuple[str, ...]:
    """Return a casefolded text, and an address in it as search texts have it."""
    plain = _BLANKS.sub(" ", text)
    return (plain, without_marks(plain)) if "<" in plain else (plain,)


def search_texts_of(desk: ReadingDesk, message_id: str) -> SearchTexts | None:
    """Return the texts of a message as the index would have them; None if it is gone."""
    row, source = desk.mailbox.index.row(message_id), desk.mailbox.read(message_id)
    if row is None or source is None:
        return None
    message = StoredMessage(source)
    details = details_of(message_id, message)
    head = search_head((row.subjects, row.senders, row.recipients), address_lines(details))
    body = search_body(message, readable_text(message))
    return SearchTexts(head, f"<{details.header_id.casefold()}>", body)


def field_check(name: str, text: str) -> Callable[[list[str]], bool]:
    """Return whether the values of the fields of a name, as people read them, have a text."""
    if name not in (*_COLUMNS, "BCC"):
        return lambda values: any(text in value.casefold() for value in values)
    plain = without_marks(text)
    return lambda values: bool(values) and plain in without_marks(" ".join(values))
