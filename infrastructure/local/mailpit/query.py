"""Read searches in the language of Mailpit, whose API programs know.

Its terms are those of `mailbox_query`, but it reads them otherwise (as its source does,
`internal/storage/search.go`):

- quotes only keep blanks in a term; they may be anywhere, and the end of a search closes them
- `to:` and `from:` are of the header, names included, and `subject:` is always a part
- `tag:` is the whole name of a tag
- `before:` and `after:` include their moment; one that is no date is left out
- what is no term is a text that is looked for; no search is refused

`inbox:` and `subaccount:` are added.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from infrastructure.local.mailbox import query_terms
from infrastructure.local.mailbox.mailbox_query import MAX_TERMS
from infrastructure.local.mailbox.query_terms import BadQuery, containing, negated
from infrastructure.local.mailbox.rows import Condition

_LEFT_OUT = re.compile(r'[\r\n\t<>",;()\ufeff]')
_ADDRESSES = {"to": "tos", "from": "froms", "cc": "ccs", "bcc": "bccs", "reply-to": "reply_tos"}
_BEFORE, _AFTER = "before", "after"


def mailpit_conditions_of(query: str, tz: str = "") -> list[Condition]:
    """Return the conditions of a search; raises BadQuery when it has too many terms.

    Times without an offset are those of the time zone `tz`; one that is unknown is UTC.
    """
    conditions: list[Condition] = []
    for argument in _arguments(query):
        is_negated = len(argument) > 1 and argument[0] in "-!"
        condition = _condition(argument[is_negated:], is_negated, tz)
        if condition:
            conditions.append(condition)
        if len(conditions) > MAX_TERMS:
            raise BadQuery(f"a search has at most {MAX_TERMS} terms")
    return conditions


def _arguments(query: str) -> Iterator[str]:
    """Yield the terms, without their quotes."""
    outside = True
    argument = ""
    for piece in re.split(r'([" ])', query):
        if piece == '"':
            outside = not outside
        elif piece == " " and outside:
            yield argument.strip()
            argument = ""
        else:
            argument += piece
    yield argument.strip()


def _condition(argument: str, is_negated: bool, tz: str) -> Condition | None:
    if not _clean(argument):
        return None
    name, colon, rest = argument.partition(":")
    name = name.lower()
    if colon and name in (_BEFORE, _AFTER):
        return _time(name, _clean(rest), is_negated, tz)
    if colon and name in ("larger", "smaller") and (size := query_terms.size_of(_clean(rest))):
        # Of a message that has just this size, both say no
        sign = "<" if (name == "larger") == is_negated else ">"
        return Condition(f"size {sign} ?", (size,))
    is_term, condition = _term(name if colon else "", rest)
    if not is_term:
        condition = _text(argument)
    return negated(condition) if condition and is_negated else condition


def _term(name: str, rest: str) -> tuple[bool, Condition | None]:
    """Return whether this is a term, and its condition, None for one without a value."""
    value = _clean(rest)
    if name == "subject":
        return True, containing("subjects", rest) if rest else None
    if name in _ADDRESSES:
        return True, containing(_ADDRESSES[name], value) if value else None
    if name == "addressed":
        return True, query_terms.addressed(value) if value else None
    if name == "message-id":
        return True, containing("header_ids", value) if value else None
    if name == "tag":
        by_name = Condition("folded = ?", (value.casefold(),))
        return True, query_terms.of_tags(by_name) if value else None
    if name == "inbox":
        return True, query_terms.of_inbox(rest)
    if name == "subaccount" and rest.isascii() and rest.isdigit() and len(rest) < 10:
        return True, query_terms.of_subaccount(rest)
    condition = {"is": query_terms.IS, "has": query_terms.HAS}.get(name, {}).get(rest.lower())
    return condition is not None, condition


def _text(argument: str) -> Condition:
    forms = dict.fromkeys((_clean(argument), argument.casefold()))
    return Condition("", needs_details=True, texts=tuple(forms))


def _time(name: str, value: str, is_negated: bool, tz: str) -> Condition | None:
    moment = query_terms.moment_of(value, tz) if value else None
    if moment is None:
        return None
    if (name == _AFTER) != is_negated:
        return Condition("id >= ?", (query_terms.bound(moment),))
    # Its times are in milliseconds
    return Condition("id < ?", (query_terms.bound(moment, milliseconds=1),))


def _clean(text: str) -> str:
    """Return a text in lower case, without what it leaves out of texts that it searches."""
    return " ".join(_LEFT_OUT.sub(" ", text).split()).casefold()
