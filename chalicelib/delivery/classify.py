"""Give the reply of a remote host one of the service's bounce classes (spec 2.11).

Hosts agree on little: the same enhanced status code stands for different things, and the same thing
is said in a hundred ways. So the words decide first (the rules of `reply_rules`, in order), then
the enhanced status code, then words that name no cause, then the reply code. Only permanent
refusals get a class that suppresses the recipient: a 4xx reply never says that an address is bad
for good.
"""

from __future__ import annotations

import re

from chalicelib.core.bounce_classes import (
    DNS_FAILURE,
    GENERIC_BOUNCE,
    HARD,
    INVALID_RECIPIENT,
    SOFT_BOUNCE,
    TRANSIENT_FAILURE,
    UNDETERMINED,
)
from chalicelib.delivery.reply_rules import reply_rules

TEXT_LIMIT = 1_000
"""Characters of a reply that are looked at."""

_STATUS = re.compile(r"(?<![0-9.])[245]\.([0-9]{1,3})\.([0-9]{1,3})(?!\.?[0-9])")
_ADDRESS = re.compile(r"[\w.+=%/-]{0,64}@[\w.-]{1,255}")
_SPACE = re.compile(r"\s+")
_OF_AN_ADDRESS = frozenset({INVALID_RECIPIENT, DNS_FAILURE})
_NOT_OF_THE_RECIPIENT = frozenset({"1.7", "1.8", "6.7", "6.8", "6.9", "6.10"})
_VAGUE = frozenset({GENERIC_BOUNCE, SOFT_BOUNCE})


def classify(code: int, reply: str) -> int:
    """Return the bounce class of a refusal: `code` is its reply code, `reply` the text after it."""
    text = _normalized(reply)
    if code < 500:
        return _temporary(_by_cause(text))
    return _by_cause(text) or _by_subject(text) or _by_words(text) or _by_code(code, text)


def _normalized(reply: str) -> str:
    """Return the text as the phrases are written, without addresses, which may contain any word."""
    text = reply[:TEXT_LIMIT].lower().replace("\u2019", "'")
    return _SPACE.sub(" ", _ADDRESS.sub("", text))


def _by_cause(text: str) -> int | None:
    """Return the cause that the words name, or else the status.

    Words that call an address unknown or invalid mean the sender's with a status about that one
    (X.1.7, X.1.8), and only its letters with a status about those (X.6.7 to X.6.10, RFC 6531).
    """
    by_words, by_status = _by_words(text), _by_status(text)
    if by_words == GENERIC_BOUNCE or (by_words in _OF_AN_ADDRESS and _is_about_another(text)):
        return by_status
    return by_words or by_status


def _by_words(text: str) -> int | None:
    rules = reply_rules().rules
    return next((rule.bounce_class for rule in rules if rule.pattern.search(text)), None)


def _by_status(text: str) -> int | None:
    status = _STATUS.search(text)
    return reply_rules().enhanced_codes.get(f"{status[1]}.{status[2]}") if status else None


def _is_about_another(text: str) -> bool:
    status = _STATUS.search(text)
    return status is not None and status[0].partition(".")[2] in _NOT_OF_THE_RECIPIENT


def _by_subject(text: str) -> int | None:
    status = _STATUS.search(text)
    return reply_rules().subjects.get(status[1]) if status else None


def _by_code(code: int, text: str) -> int:
    if _STATUS.search(text):
        return GENERIC_BOUNCE
    default = UNDETERMINED if text.strip() else GENERIC_BOUNCE
    return reply_rules().reply_codes.get(code, default)


def _temporary(bounce_class: int | None) -> int:
    """Return the class of a 4xx reply: nothing hard, nothing vague."""
    if bounce_class is None or bounce_class in HARD or bounce_class in _VAGUE:
        return TRANSIENT_FAILURE
    return bounce_class
