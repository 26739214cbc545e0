"""The id of a new pool, made from its name: letters, digits and underscores, in lower case.

An id has at most 20 characters so that it can be a subaccount's pool (spec 2.6). It stays when the
pool is renamed.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Final
from unicodedata import normalize

LONGEST: Final = 20

_OTHERS = re.compile(r"[^a-z0-9]+")
_NAMELESS = "pool"


def new_id(name: str, taken: Container[str]) -> str:
    """Return an id for a pool of this name that is not among ``taken``.

    >>> new_id("Marketing, EU", {"marketing_eu"})
    'marketing_eu_2'
    """
    plain = normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    stem = _cut(_OTHERS.sub("_", plain).strip("_"), LONGEST) or _NAMELESS
    candidate, number = stem, 1
    while candidate in taken:
        number += 1
        suffix = f"_{number}"
        candidate = _cut(stem, LONGEST - len(suffix)) + suffix
    return candidate


def _cut(text: str, length: int) -> str:
    return text[:length].rstrip("_")
