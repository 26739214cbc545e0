"""Read and write JSON as the local cloud stores it: compact, by orjson where that can.

orjson refuses text that is no Unicode (half of a surrogate pair), which Python's own module takes.
"""

from __future__ import annotations

import json
from typing import Any

import orjson


def loads(text: str | bytes) -> Any:
    """Return the value of JSON; raises ValueError."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


def dumps(value: Any) -> str:
    """Return a value as JSON."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"))


def canonical(value: Any) -> bytes:
    """Return the same bytes for equal values."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
