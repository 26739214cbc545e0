"""Keywords: whole words of a text (spec 4.10).

Words end at spaces, dashes and underscores, in domains at dots as well. A keyword of several words
matches where these words follow one another; upper and lower case are alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

_BETWEEN_WORDS = re.compile(r"[\s\-_]+")
_BETWEEN_LABELS = re.compile(r"[\s\-_.]+")
_MOST_REMEMBERED = 10_000


def matcher(keywords: Iterable[str], *, domain: bool = False) -> Callable[[Any], bool]:
    """Return what tells whether one of ``keywords`` is among the words of a text.

    No keyword is found where there is no text (``None``), and one without a word nowhere.
    """
    wanted = [words for keyword in keywords if (words := _words(keyword, domain)) != "\n"]

    @lru_cache(_MOST_REMEMBERED)
    def is_found(text: str | None) -> bool:
        if not text:
            return False
        words = _words(text, domain)
        return any(each in words for each in wanted)

    return is_found


def _words(text: str, domain: bool) -> str:
    """Return the words of a text, each between two line ends."""
    between = _BETWEEN_LABELS if domain else _BETWEEN_WORDS
    found = (word for word in between.split(text.casefold()) if word)
    return "\n" + "".join(f"{word}\n" for word in found)
