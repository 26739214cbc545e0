"""Read searches of the mailbox, such as `to:ann@inbox.test is:unread "spring sale" -tag:test`.

    to: from: subject: tag:    a part of the value; "in quotes" the whole value; with `*` for any
                               characters a pattern of the whole value
    subaccount:                the id of a subaccount, 0 for none
    inbox:                     the name of an inbox; `inbox:""` is that of mail of no other one
    has:attachment  is:unread  is:read
    before: after:             a date or a time (ISO 8601; UTC without an offset)
    anything else              a part of recipient, sender, subject or text

Conditions are joined with "and", `-` before one negates it, and case does not matter. Domains may
be written in letters or in A-labels.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from infrastructure.local.sink.mailbox_rows import Condition
from infrastructure.local.sink.search_texts import searched_forms

MAX_TERMS = 50
_TERM = re.compile(r'\s*(-?)(?:([a-z_]+):)?(?:"([^"]*)"|([^\s"]*))')
_DIGITS = re.compile(r"[0-9]{1,9}")
_ADDRESSES = ("recipients", "senders")


class BadQuery(ValueError):
    """The search cannot be read; the message says why."""


def conditions_of(query: str) -> list[Condition]:
    """Return the conditions of a search; raises BadQuery."""
    conditions: list[Condition] = []
    position = 0
    query = query.strip()
    while position < len(query):
        match = _TERM.match(query, position)
        if match is None or match.end() == position:
            raise BadQuery(f"cannot read {query[position:][:40]!r}")
        position = match.end()
        if condition := _condition(*match.groups()):
            conditions.append(condition)
        if len(conditions) > MAX_TERMS:
            raise BadQuery(f"a search has at most {MAX_TERMS} terms")
    return conditions


def simple_conditions(to: str | None, sender: str | None, subject: str | None) -> list[Condition]:
    """Return the conditions of the parameters `to`, `from` and `subject` (see `Mailbox.list`)."""
    conditions = [] if to is None else [_matching("recipients", to)]
    conditions += [_containing("senders", sender)] if sender else []
    conditions += [_containing("subjects", subject)] if subject else []
    return conditions


def of_inbox(name: str) -> Condition:
    """Return the condition that a message is in an inbox."""
    return Condition("inbox = ?", (name,))


def of_subaccount(text: str) -> Condition:
    """Return the condition that a subaccount sent the message; raises BadQuery."""
    if not _DIGITS.fullmatch(text):
        raise BadQuery("subaccount takes the id of a subaccount")
    sql = "subaccount_id = ? AND details.message_id <> ''"
    return Condition(sql, (int(text),), needs_details=True)


def _condition(minus: str, name: str | None, quoted: str | None, word: str) -> Condition | None:
    value = word if quoted is None else quoted
    if name is not None and name not in _OPERATORS:
        # A colon may be part of a word, such as that of a URL
        if quoted is not None:
            raise BadQuery(f"there is no operator {name}:")
        name, value = None, f"{name}:{value}"
    if not value and not (name == "inbox" and quoted is not None):
        if name:
            raise BadQuery(f"{name}: needs a value")
        return None
    condition = _OPERATORS[name](value, quoted is not None) if name else _anywhere(value)
    return condition._replace(sql=f"NOT ({condition.sql})") if minus else condition


def _anywhere(value: str) -> Condition:
    parts = [_containing(each, value) for each in ("recipients", "senders", "subjects", "body")]
    return _any_of(parts)._replace(needs_details=True)


def _text(column: str, *, needs_details: bool = False) -> Callable[[str, bool], Condition]:
    def condition(value: str, is_quoted: bool) -> Condition:
        build = _matching if is_quoted or "*" in value else _containing
        return build(column, value)._replace(needs_details=needs_details)

    return condition


def _matching(column: str, pattern: str) -> Condition:
    forms = _forms(column, pattern)
    return _any_of([Condition(f"matches_line({column}, ?)", (form,)) for form in forms])


def _containing(column: str, text: str) -> Condition:
    return _any_of([Condition(f"instr({column}, ?)", (form,)) for form in _forms(column, text)])


def _forms(column: str, text: str) -> list[str]:
    return searched_forms(text) if column in _ADDRESSES else [text.casefold()]


def _any_of(conditions: Sequence[Condition]) -> Condition:
    sql = " OR ".join(condition.sql for condition in conditions)
    return Condition(f"({sql})", tuple(value for each in conditions for value in each.values))


def _has(value: str, _: bool) -> Condition:
    if value.casefold() not in ("attachment", "attachments"):
        raise BadQuery("has: takes attachment")
    return Condition("attachments > 0", needs_details=True)


def _is(value: str, _: bool) -> Condition:
    if value.casefold() not in ("unread", "read"):
        raise BadQuery("is: takes unread or read")
    return Condition("unread" if value.casefold() == "unread" else "NOT unread")


def _time(sign: str) -> Callable[[str, bool], Condition]:
    def condition(value: str, _: bool) -> Condition:
        try:
            moment = datetime.fromisoformat(value.upper())
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            seconds = int(moment.timestamp())
        except (ValueError, OverflowError, OSError):
            raise BadQuery("before: and after: take a date or a time such as 2026-11-22") from None
        # Ids begin with the time of arrival
        bound = f"{min(max(seconds, 0), 9_999_999_999):010d}.M{moment.microsecond:06d}"
        return Condition(f"id {sign} ?", (bound,))

    return condition


_OPERATORS: dict[str, Callable[[str, bool], Condition]] = {
    "to": _text("recipients"),
    "from": _text("senders"),
    "subject": _text("subjects"),
    "tag": _text("tag_lines", needs_details=True),
    "subaccount": lambda value, _: of_subaccount(value),
    "inbox": lambda value, _: of_inbox(value),
    "has": _has,
    "is": _is,
    "before": _time("<"),
    "after": _time(">="),
}
