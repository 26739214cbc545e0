"""Take out of reasons what differs from one message to the next.

Mail hosts put the recipient's address, their own queue id and the number of the attempt into their
replies. Counted as they are, there would be as many reasons as messages, and addresses would be
stored for six months. Events keep the full text.

What is an id and what a code cannot be told for certain. ``BL000001`` and ``5.7.606`` stay: letters
and then some digits, or short numbers. ``4XyZ12abC1`` and ``38206`` go: letters and digits in turn,
or many digits. So some codes are lost, and few ids stay.

All expressions are linear: each begins at a border of a word, or has a bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

LONGEST_REASON: Final = 250

_STANDS_FOR_ANY: Final = "*"

_NAME = r"""[^\s<>()\[\]{}",;:@]"""
# Also `a@@b`, `a@[192.0.2.1]`, `"a b"@c` and, in links, `a%40b`
_ADDRESS = re.compile(
    rf"""(?:"[^"\n]{{1,64}}"|(?<!{_NAME}){_NAME}+)(?:(?:@+|%40)(?:\[[^\]\s]{{0,64}}\]|{_NAME}*))+""",
    re.IGNORECASE,
)
# Also 192-0-2-1, as names of hosts have it
_IPV4 = re.compile(r"(?<![\w.])[0-9]{1,3}(?:[.-][0-9]{1,3}){3}(?!\w|\.[0-9])(?::[0-9]{1,5}\b)?")
# Also times with seconds, which look alike
_IPV6 = re.compile(
    r"(?<![\w.])(?=:{0,2}[0-9A-F])(?:[0-9A-F]{0,4}:){2,7}[0-9A-F]{0,4}(?:\.[0-9]{1,3}){0,3}(?!\w)",
    re.IGNORECASE,
)
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_HAS_MONTH = re.compile(_MONTHS)
_MONTH = f"(?:{_MONTHS})[a-z]{{0,6}}"
_DAY = "(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6},? )?"
_YEAR = "(?:19|20)[0-9]{2}"
_CLOCK = r"(?:[T ,:]{1,2}[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:[.,][0-9]{1,9})?)?"
_ZONE = r"(?: ?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}))?\b"
_ISO_DATE = re.compile(rf"\b{_YEAR}[-/][0-9]{{2}}[-/][0-9]{{2}}{_CLOCK}{_ZONE}")
_DATE = re.compile(
    rf"\b{_DAY}(?:[0-9]{{1,2}}[ /-]{_MONTH}[ /-]{_YEAR}"
    rf"|{_MONTH} {{1,2}}[0-9]{{1,2}}(?:,? {_YEAR})?){_CLOCK}(?: {_YEAR})?{_ZONE}"
)
_TIME = re.compile(r"(?<![\w.:])[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:[.,][0-9]{1,9})?\b")
_UNIT = "(?:ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)"
_DURATION = re.compile(rf"\b[0-9]{{1,9}}(?:\.[0-9]{{1,9}})?(?= ?{_UNIT}\b)", re.IGNORECASE)
# A word of at least twelve characters with four digits in it: an id, the name of a server, a time
_LONG_WORD = re.compile(r"[\w.+-]{12,}")
_EXIM_ID = re.compile(r"\b[0-9A-Za-z]{6}-[0-9A-Za-z]{6,11}-[0-9A-Za-z]{2,4}\b")
_RUN = re.compile(r"[0-9A-Za-z]{5,}")
_PIECE = re.compile("[0-9]+|[A-Z]?[a-z]+|[A-Z]+")
_DIGIT = re.compile("[0-9]")
_HEXADECIMAL = re.compile("[0-9A-F]{8,}|[0-9a-f]{8,}")

_FEWEST_DIGITS = 4  # of a long word
_MOST_DIGITS = 6  # of a code
_MOST_PIECES = 3  # of a code: letters and digits in turn
_MOST_PASSES = 8
_LONGEST_NUMBER = 4  # of one that says something


def canonical_reason(reason: str) -> str:
    """Return a reason of at most 250 characters, with ``*`` for addresses, ids and times."""
    text = " ".join(reason[: 4 * LONGEST_REASON].split())
    for _ in range(_MOST_PASSES):
        before, text = text, _pass(text)[:LONGEST_REASON]
        # What stands for one address or time may complete another only next to a colon: `0::@`
        if text == before or ":" not in before:
            break
    return text


def _pass(text: str) -> str:
    for expression in _expressions(text):
        text = expression.sub(_STANDS_FOR_ANY, text)
    text = _LONG_WORD.sub(_without_long_id, text)
    text = _EXIM_ID.sub(_STANDS_FOR_ANY, text)
    return _RUN.sub(_without_id, text)


def _expressions(text: str) -> Iterator[re.Pattern[str]]:
    """Yield what to look for; many recipients of a campaign may bounce, so no more than needed."""
    if "@" in text or "%40" in text:
        yield _ADDRESS
    if _HAS_MONTH.search(text):
        yield _DATE
    yield _ISO_DATE
    if ":" in text:
        yield from (_IPV6, _TIME)
    yield from (_IPV4, _DURATION)


def _without_long_id(word: re.Match[str]) -> str:
    text = word.group()
    return _STANDS_FOR_ANY if _digits(text) >= _FEWEST_DIGITS else text


def _without_id(run: re.Match[str]) -> str:
    text = run.group()
    return _STANDS_FOR_ANY if _is_id(text) else text


def _is_id(text: str) -> bool:
    """Tell whether letters and digits without a blank are an id, and no word or code."""
    digits = _digits(text)
    if digits == len(text):
        return digits > _LONGEST_NUMBER
    if not digits:
        return False
    is_hexadecimal = _HEXADECIMAL.fullmatch(text) is not None
    return digits > _MOST_DIGITS or len(_PIECE.findall(text)) > _MOST_PIECES or is_hexadecimal


def _digits(text: str) -> int:
    return len(_DIGIT.findall(text))
