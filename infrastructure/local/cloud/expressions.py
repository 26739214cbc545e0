"""Let MiniStack evaluate expressions at the cost of what they do.

Repairs (MiniStack 1.5.33): MiniStack splits and checks the text of an expression each time that it
is evaluated, which takes ten times the evaluation itself, and copies items with ``copy.deepcopy``.
Here the results for a text are kept, and items are copied as what they are: JSON.
"""

from __future__ import annotations

import copy
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from ministack.services import dynamodb

_TEXTS = 2_048


def install() -> None:
    """Replace what is slow."""
    for name in ("_tokenize", "_condition_syntax_error"):
        setattr(dynamodb, name, lru_cache(maxsize=_TEXTS)(getattr(dynamodb, name)))
    dynamodb.copy = SimpleNamespace(deepcopy=copied, copy=copy.copy)


def copied(value: Any) -> Any:
    """Return a copy of JSON, all the way down."""
    kind = type(value)
    if kind is dict:
        return {name: copied(member) for name, member in value.items()}
    if kind is list:
        return [copied(member) for member in value]
    return value if kind in (str, int, float, bool, type(None)) else copy.deepcopy(value)
