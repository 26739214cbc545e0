"""Write and read JSON between the service's own processes, in half the time of the ``json`` module.

The text is UTF-8 without blanks. It may hold half a surrogate pair, as a request may; such a text
is written and read by the ``json`` module (``surrogatepass``).
"""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json, to_json


def dumps(value: Any) -> bytes:
    """Return a value that JSON can hold as JSON."""
    try:
        return to_json(value)
    except ValueError:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "surrogatepass")


def loads(data: bytes) -> Any:
    """Return the value that :func:`dumps` was given."""
    try:
        return from_json(data, cache_strings="keys")
    except ValueError:
        return json.loads(data.decode("utf-8", "surrogatepass"))
