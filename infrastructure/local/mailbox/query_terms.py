"""Build the conditions that terms of a search stand for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from infrastructure.local.mailbox.rows import Condition
from infrastructure.local.mailbox.search_texts import searched_forms

SUBACCOUNT_INBOX = "subaccount:"
#: The addresses of a header, each a line of names and addresses
ADDRESS_COLUMNS = ("froms", "tos", "ccs", "bccs", "reply_tos")

_FIELDS = ("header_ids", *ADDRESS_COLUMNS)
_ADDRESSES = ("recipients", "senders", *ADDRESS_COLUMNS)
_DIGITS = re.compile(r"[0-9]{1,9}")
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?)\s?([kmg]?)b?", re.ASCII)
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_OTHER_DATES = (
    *("%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%Y-%m", "%Y", "%m/%d/%Y"),
    *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y", "%d.%m.%Y"),
)
_MOST_GLOB_CHARACTERS = 1000
#: The largest number that SQLite compares with
MOST_BYTES = (1 << 63) - 1

HAS = {
    name: Condition(sql, needs_details=True, in_fields=True)
    for sql, names in (
        ("attachments", ("attachment", "attachments")),
        ("inlines", ("inline", "inlines")),
    )
    for name in names
}


class BadQuery(ValueError):
    """The search cannot be read; the message says why."""


def negated(condition: Condition) -> Condition:
    """Return the opposite condition."""
    if condition.texts:
        return condition._replace(negated=not condition.negated)
    return condition._replace(sql=f"NOT ({condition.sql})")


def of_inbox(name: str) -> Condition:
    """Return the condition that a message is in an inbox, which may be that of a subaccount."""
    number = name.removeprefix(SUBACCOUNT_INBOX)
    if name == number or not _DIGITS.fullmatch(number):
        return Condition("inbox = ?", (name,))
    # The column is set with the details
    return Condition("subaccount = ? OR inbox = ?", (int(number), name), needs_details=True)


def of_subaccount(text: str) -> Condition:
    """Return the condition that a subaccount sent the message; raises BadQuery."""
    if not _DIGITS.fullmatch(text):
        raise BadQuery("subaccount takes the id of a subaccount")
    sql = "subaccount_id = ? AND by_service"
    return Condition(sql, (int(text),), needs_details=True, in_fields=True)


def of_tags(condition: Condition) -> Condition:
    """Return the condition that a tag of a message meets one on the column `folded`."""
    sql = f"uid IN (SELECT uid FROM message_tags WHERE {condition.sql})"
    return Condition(sql, condition.values, needs_details=True)


def addressed(value: str) -> Condition:
    """Return the condition that any address of the header has a text in it."""
    parts = [containing(column, value) for column in ADDRESS_COLUMNS]
    return any_of(parts)


def containing(column: str, text: str) -> Condition:
    """Return the condition that a column has a text in it."""
    parts = [Condition(f"instr({column}, ?)", (form,)) for form in _forms(column, text)]
    return _of_column(column, any_of(parts))


def matching(column: str, pattern: str) -> Condition:
    """Return the condition that a line of a column is a pattern, with `*` for any characters."""
    condition = any_of([_matching(column, form) for form in _forms(column, pattern)])
    return _of_column(column, condition)


def _of_column(column: str, condition: Condition) -> Condition:
    in_fields = column in _FIELDS
    return condition._replace(needs_details=in_fields, in_fields=in_fields)


def any_of(conditions: Sequence[Condition]) -> Condition:
    """Return the condition that one of some is met."""
    if len(conditions) == 1:
        return conditions[0]
    sql = " OR ".join(condition.sql for condition in conditions)
    values = tuple(value for each in conditions for value in each.values)
    return conditions[0]._replace(sql=f"({sql})", values=values)


def size_of(text: str) -> int | None:
    """Return a number of bytes, such as that of `10k`, at most `MOST_BYTES`; None if it is none."""
    match = _SIZE.fullmatch(text.strip().lower())
    return min(int(float(match[1]) * _UNITS[match[2]]), MOST_BYTES) if match else None


def moment_of(text: str, tz: str = "") -> datetime | None:
    """Return the moment of a date or time; None if it is none, or too far away."""
    text = text.strip().upper()
    moment = _read(text)
    if moment is None:
        return None
    try:
        moment = moment if moment.tzinfo else moment.replace(tzinfo=_zone(tz))
        return moment.astimezone(UTC)
    except (OverflowError, OSError, ValueError):
        return None


def bound(moment: datetime, milliseconds: int = 0) -> str:
    """Return what ids of messages are compared with: they begin with the time of arrival."""
    try:
        moment += timedelta(milliseconds=milliseconds)
        seconds = int(moment.timestamp())
    except (OverflowError, OSError, ValueError):
        seconds = 9_999_999_999
    return f"{min(max(seconds, 0), 9_999_999_999):010d}.M{moment.microsecond:06d}"


def _read(text: str) -> datetime | None:
    if text.isascii() and text.isdigit() and len(text) in (10, 13):
        return datetime.fromtimestamp(int(text[:10]), UTC)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    for form in _OTHER_DATES:
        try:
            return datetime.strptime(text, form)
        except ValueError:
            continue
    return None


def _zone(name: str) -> tzinfo:
    if not name:
        return UTC
    from zoneinfo import ZoneInfo  # seldom needed

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


def _matching(column: str, pattern: str) -> Condition:
    if "*" not in pattern:
        return Condition(f"instr(char(10) || {column} || char(10), ?)", (f"\n{pattern}\n",))
    if len(pattern) > _MOST_GLOB_CHARACTERS:
        return Condition(f"matches_line({column}, ?)", (pattern,))
    # SQLite's own function is much faster, but it knows no lines
    glob = re.sub(r"([\[?])", r"[\1]", pattern)
    return Condition(
        f"CASE WHEN instr({column}, char(10)) THEN matches_line({column}, ?)"
        f" ELSE {column} GLOB ? END",
        (pattern, glob),
    )


def _forms(column: str, text: str) -> list[str]:
    if column not in _ADDRESSES:
        return [text.casefold()]
    forms = searched_forms(text)
    return forms if column in _ADDRESSES[:2] else list(dict.fromkeys((text.casefold(), *forms)))


IS = {
    "unread": Condition("unread = 1"),
    "read": Condition("unread = 0"),
    "tagged": of_tags(Condition("1")),
}
