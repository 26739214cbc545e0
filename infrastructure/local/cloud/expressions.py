"""Let MiniStack evaluate expressions at the cost of what they do.

Repairs (MiniStack 1.5.33): MiniStack splits and checks the text of an expression each time that it
is evaluated, which takes ten times the evaluation itself, and copies items with ``copy.deepcopy``.
Here a text is checked once, and items are copied as what they are: JSON.
"""

from __future__ import annotations

import copy
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from ministack.services import dynamodb

from chalicelib.core.json_types import Json

_TEXTS = 2_048
# Expressions that were evaluated before. A range of values is checked each time
_texts: set[str] = set()
_CHECKED_EACH_TIME = "BETWEEN"


def install() -> None:
    """Replace what is slow."""
    dynamodb._tokenize = lru_cache(maxsize=_TEXTS)(dynamodb._tokenize)
    dynamodb.copy = SimpleNamespace(deepcopy=copied, copy=copy.copy)


def holds(expression: str, item: Json, values: Json, names: Json, slot: str) -> bool:
    """Tell whether an expression holds for an item; raises ValueError."""
    if expression in _texts:
        tokens = dynamodb._tokenize(expression)
        return bool(dynamodb._ExprEval(tokens, item, values, names).evaluate())
    result = bool(dynamodb._evaluate_condition(expression, item, values, names, slot=slot))
    if _CHECKED_EACH_TIME not in expression.upper():
        if len(_texts) >= _TEXTS:
            _texts.clear()
        _texts.add(expression)
    return result


def copied(value: Any) -> Any:
    """Return a copy of JSON, all the way down."""
    kind = type(value)
    if kind is dict:
        return {name: copied(member) for name, member in value.items()}
    if kind is list:
        return [copied(member) for member in value]
    return value if kind in (str, int, float, bool, type(None)) else copy.deepcopy(value)
