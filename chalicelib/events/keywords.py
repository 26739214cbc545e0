"""Find keywords, which are whole words, in texts (spec 4.10).

Words end at spaces, dashes and underscores, in domains also at dots. A keyword of several words
matches where these words follow one another. Case does not matter. The words of a domain are those
that people read: of its U-labels, however data and keyword spell it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from chalicelib.core.domain_names import DOTS, in_u_labels, spelling

_BETWEEN_WORDS = re.compile(r"[\s\-_]+")
_BETWEEN_LABELS = re.compile(rf"[\s{DOTS}]+")
_MOST_REMEMBERED = 10_000


def matcher(keywords: Iterable[str], *, domain: bool = False) -> Callable[[Any], bool]:
    """Return a function that tells whether a text contains one of ``keywords``.

    A missing text (``None``) contains no keyword. A keyword without a word is in no text.
    """
    patterns = [words for keyword in keywords if (words := _words(keyword, domain)) != "\n"]

    @lru_cache(_MOST_REMEMBERED)
    def contains(text: str | None) -> bool:
        if not text:
            return False
        words = _words(text, domain)
        return any(pattern in words for pattern in patterns)

    return contains


def _words(text: str, domain: bool) -> str:
    """Return the words of a text, each between two line ends."""
    text = _readable(text) if domain else text.casefold()
    words = (word for word in _BETWEEN_WORDS.split(text) if word)
    return "\n" + "".join(f"{word}\n" for word in words)


def _readable(domain: str) -> str:
    """Return the labels of a domain, or of a part of one, in U-labels, with blanks between."""
    labels = _BETWEEN_LABELS.split(domain)
    return " ".join(in_u_labels(spelling(label)) for label in labels)
