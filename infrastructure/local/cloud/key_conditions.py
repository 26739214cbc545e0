"""Read the key condition of a query: which partition it asks for, and which sort keys.

Conditions are as DynamoDB has them: ``=`` for the partition key; ``=``, ``<``, ``<=``, ``>``,
``>=``, ``BETWEEN`` or ``begins_with`` for the sort key, in any order and in parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ministack.services import dynamodb

from infrastructure.local.cloud.stored_table import Index, Span
from infrastructure.local.cloud.table_keys import Unusual, after_prefix, value_of

_NAME, _VALUE = r"(#?[A-Za-z_]\w*|#\w+)", r"(:\w+)"
_FORMS = re.compile(
    rf"\s*(?:{_NAME}\s*(=|<=|<|>=|>)\s*{_VALUE}"
    rf"|{_NAME}\s+BETWEEN\s+{_VALUE}\s+AND\s+{_VALUE}"
    rf"|begins_with\s*\(\s*{_NAME}\s*,\s*{_VALUE}\s*\))\s*",
    re.IGNORECASE,
)
_AND = re.compile(r"\s*AND(?=[\s(])", re.IGNORECASE)
_REFERENCE = re.compile(r"[#:]\w+")
_BETWEEN, _BEGINS = "between", "begins_with"


class _Clause(NamedTuple):
    """A condition on one key: its name or the reference to it, and the references of values."""

    name: str
    operator: str
    values: tuple[str, ...]


def span(request: Mapping[str, Any], index: Index) -> Span:
    """Return what a query asks for in an index, without its start; raises :class:`Unusual`."""
    clauses = _clauses(request.get("KeyConditionExpression"))
    if clauses is None:
        raise Unusual
    names = request.get("ExpressionAttributeNames") or {}
    values = request.get("ExpressionAttributeValues") or {}
    by_key = {names.get(each.name, each.name): each for each in clauses}
    partition, sort = by_key.pop(index.hash, None), by_key.pop(index.range, None)
    if partition is None or partition.operator != "=" or by_key or len(clauses) > 1 + bool(sort):
        raise Unusual
    key = value_of(values.get(partition.values[0]), index.hash_kind)
    if sort is None:
        return Span(key)
    bounds = [value_of(values.get(name), index.range_kind) for name in sort.values]
    match sort.operator:
        case "=":
            return Span(key, (bounds[0], False), (bounds[0], False))
        case "<" | "<=":
            return Span(key, high=(bounds[0], sort.operator == "<"))
        case ">" | ">=":
            return Span(key, low=(bounds[0], sort.operator == ">"))
        case "between":
            if bounds[0] > bounds[1]:  # type: ignore[operator]
                raise Unusual
            return Span(key, (bounds[0], False), (bounds[1], False))
    if index.range_kind == "N":
        raise Unusual
    end = after_prefix(bounds[0])
    return Span(key, (bounds[0], False), None if end is None else (end, True))


@lru_cache(maxsize=1024)
def references(*expressions: str) -> frozenset[str]:
    """Return the names and values that expressions refer to."""
    return frozenset(name for each in expressions for name in _REFERENCE.findall(each))


@lru_cache(maxsize=512)
def _clauses(expression: Any) -> tuple[_Clause, ...] | None:
    """Return the conditions of an expression, or ``None`` if it has another form."""
    if not isinstance(expression, str):
        return None
    text = _without_parentheses(expression)
    clauses = []
    while True:
        text, is_enclosed = _opened(text)
        match = _FORMS.match(text)
        if match is None:
            return None
        clauses.append(_clause(match))
        if clauses[-1] is None:
            return None
        text = text[match.end() :]
        if is_enclosed:
            if not text.startswith(")"):
                return None
            text = text[1:]
        if not text.strip():
            return tuple(each for each in clauses if each)
        following = _AND.match(text)
        if following is None:
            return None
        text = text[following.end() :]


def _clause(match: re.Match[str]) -> _Clause | None:
    name, operator, value, between, low, high, begins, prefix = match.groups()
    if name:
        clause = _Clause(name, operator, (value,))
    elif between:
        clause = _Clause(between, _BETWEEN, (low, high))
    else:
        clause = _Clause(begins, _BEGINS, (prefix,))
    # A word of the language must be written as a reference
    return None if clause.name.upper() in dynamodb.AWS_KEYWORDS else clause


def _opened(text: str) -> tuple[str, bool]:
    """Return the text behind an opening parenthesis, and whether there was one."""
    stripped = text.lstrip()
    return (stripped[1:], True) if stripped.startswith("(") else (text, False)


def _without_parentheses(expression: str) -> str:
    """Return an expression without one pair of parentheses around all of it."""
    text = expression.strip()
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and position < len(text) - 1:
            return text
    inner = text[1:-1]
    # A single condition in parentheses has them removed where it is read
    return inner if _AND.search(inner) else text
