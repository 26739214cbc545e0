"""Reasons as metrics tell them apart: without what differs from one message to the next.

Mail hosts put the recipient's address and the number of the attempt into their replies. Counted as
they are, such reasons would be as many as messages, and would keep addresses for six months. The
events keep the whole text.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST: Final = 250

_ADDRESS = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[\w.-]{1,255}")
# A word of at least twelve characters with four digits in it: an id, a queue's number, a time
_WORD = re.compile(r"[\w.:+/=-]{12,}")
_FEWEST_DIGITS = 4


def canonical(reason: str) -> str:
    """Return a reason with ``*`` for addresses and ids, and of at most ``LONGEST`` characters."""
    text = _ADDRESS.sub("*", " ".join(reason[: 4 * LONGEST].split()))
    return _WORD.sub(_shown, text)[:LONGEST]


def _shown(word: re.Match[str]) -> str:
    text = word.group()
    return "*" if sum(map(str.isdigit, text)) >= _FEWEST_DIGITS else text
