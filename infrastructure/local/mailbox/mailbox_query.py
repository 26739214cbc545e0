"""Read searches of the mailbox, such as `to:ann@inbox.test is:unread "spring sale" -tag:test`.

    to: from: subject: tag: cc: bcc: reply-to: message-id:
                               a part of the value; "in quotes" the whole value; with `*` for any
                               characters a pattern of the whole value
    addressed:                 a part of any of the addresses in the header
    subaccount:                the id of a subaccount, 0 for none
    inbox:                     the name of an inbox; `inbox:""` is that of mail of no other one
    has:attachment  has:inline  is:unread  is:read  is:tagged
    before: after:             a date or a time (ISO 8601; UTC without an offset)
    larger: smaller:           a number of bytes, or such as 10k or 1.5mb
    anything else              a part of an address, of the subject, of a file name or of the text

`to:` looks at the recipients of the envelope, `from:` at its sender and at the From field.
Conditions are joined with "and", `-` or `!` before one negates it, and case does not matter.
Domains may be written in letters or in A-labels.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from infrastructure.local.mailbox import query_terms
from infrastructure.local.mailbox.query_terms import BadQuery, containing, matching, negated
from infrastructure.local.mailbox.rows import Condition
from infrastructure.local.mailbox.search_texts import searched_forms

MAX_TERMS = 50
_TERM = re.compile(r'\s*([-!]?)(?:([A-Za-z_-]+):)?(?:"([^"]*)"|([^\s"]*))')


def conditions_of(query: str, tz: str = "") -> list[Condition]:
    """Return the conditions of a search; raises BadQuery.

    Times without an offset are those of the time zone `tz`, such as Europe/Berlin.
    """
    conditions: list[Condition] = []
    position = 0
    query = query.strip()
    while position < len(query):
        match = _TERM.match(query, position)
        if match is None or match.end() == position:
            raise BadQuery(f"cannot read {query[position:][:40]!r}")
        position = match.end()
        minus, name, quoted, word = match.groups()
        if condition := _condition(minus, name, quoted, word, tz):
            conditions.append(condition)
        if len(conditions) > MAX_TERMS:
            raise BadQuery(f"a search has at most {MAX_TERMS} terms")
    return conditions


def simple_conditions(to: str | None, sender: str | None, subject: str | None) -> list[Condition]:
    """Return the conditions of the parameters `to`, `from` and `subject` (see `Mailbox.list`)."""
    conditions = [] if to is None else [matching("recipients", to)]
    conditions += [containing("senders", sender)] if sender else []
    conditions += [containing("subjects", subject)] if subject else []
    return conditions


def _condition(
    minus: str, name: str | None, quoted: str | None, word: str, tz: str
) -> Condition | None:
    value = word if quoted is None else quoted
    build = _OPERATORS.get(name.lower()) if name is not None else None
    if name is not None and build is None:
        # A colon may be part of a word, such as that of a URL
        if quoted is not None:
            raise BadQuery(f"there is no operator {name}:")
        value = f"{name}:{value}"
    if not value and not (build is _inbox and quoted is not None):
        if build:
            raise BadQuery(f"{name}: needs a value")
        return None
    condition = build(value, quoted is not None, tz) if build else _anywhere(value)
    return negated(condition) if minus else condition


def _anywhere(value: str) -> Condition:
    forms = dict.fromkeys((value.casefold(), *searched_forms(value)))
    return Condition("", needs_details=True, texts=tuple(forms))


_Build = Callable[[str, bool, str], Condition]


def _text(column: str) -> _Build:
    def condition(value: str, is_quoted: bool, _: str) -> Condition:
        build = matching if is_quoted or "*" in value else containing
        return build(column, value)

    return condition


def _tag(value: str, is_quoted: bool, tz: str) -> Condition:
    return query_terms.of_tags(_text("folded")(value, is_quoted, tz))


def _has(value: str, *_: object) -> Condition:
    condition = query_terms.HAS.get(value.casefold())
    if condition is None:
        raise BadQuery("has: takes attachment or inline")
    return condition


def _is(value: str, *_: object) -> Condition:
    condition = query_terms.IS.get(value.casefold())
    if condition is None:
        raise BadQuery("is: takes unread, read or tagged")
    return condition


def _inbox(value: str, *_: object) -> Condition:
    return query_terms.of_inbox(value)


def _time(sign: str) -> _Build:
    def condition(value: str, _: bool, tz: str) -> Condition:
        moment = query_terms.moment_of(value, tz)
        if moment is None:
            raise BadQuery("before: and after: take a date or a time such as 2026-11-22")
        return Condition(f"id {sign} ?", (query_terms.bound(moment),))

    return condition


def _size(sign: str) -> _Build:
    def condition(value: str, *_: object) -> Condition:
        size = query_terms.size_of(value)
        if size is None:
            raise BadQuery("larger: and smaller: take a size such as 4096, 10k or 1.5mb")
        return Condition(f"size {sign} ?", (size,))

    return condition


_OPERATORS: dict[str, _Build] = {
    "to": _text("recipients"),
    "from": _text("senders"),
    "subject": _text("subjects"),
    "cc": _text("ccs"),
    "bcc": _text("bccs"),
    "reply-to": _text("reply_tos"),
    "message-id": _text("header_ids"),
    "addressed": lambda value, *_: query_terms.addressed(value),
    "tag": _tag,
    "subaccount": lambda value, *_: query_terms.of_subaccount(value),
    "inbox": _inbox,
    "has": _has,
    "is": _is,
    "before": _time("<"),
    "after": _time(">="),
    "larger": _size(">"),
    "smaller": _size("<"),
}
