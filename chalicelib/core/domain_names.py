"""Normalize domain names, and tell which names one owner can have (the public suffix list).

A name is kept in lower case and in A-labels (RFC 5890): ``Bücher.example`` is
``xn--bcher-kva.example``. Names with characters beyond ASCII are mapped by UTS 46, as
browsers do.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

LONGEST = 253
LONGEST_LABEL = 63

_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")


class BadName(ValueError):
    """The text is no host name; the message says what is wrong with it."""


def canonical(text: str) -> str:
    """Return the one spelling of a host name of at least two labels; raises :class:`BadName`."""
    name = text.lower() if text.isascii() else _a_labels(text)
    if len(name) > LONGEST:
        raise BadName(f"it has more than {LONGEST} characters")
    labels = name.split(".")
    if len(labels) < 2:
        raise BadName("it has no dot")
    if not all(labels):
        raise BadName("a part between its dots is too short")
    if any(len(label) > LONGEST_LABEL for label in labels):
        raise BadName(f"a part between its dots has more than {LONGEST_LABEL} characters")
    if not all(map(_LABEL.fullmatch, labels)):
        raise BadName("it contains invalid characters or spaces")
    if labels[-1].isdigit():
        raise BadName("its last part is a number")
    return name


def normalize(text: str) -> str | None:
    """Return a name in the spelling in which it is stored, ``None`` if it has none."""
    try:
        name = text.lower() if text.isascii() else _a_labels(text)
    except BadName:
        return None
    return name if len(name) <= LONGEST else None


def in_a_labels(name: str) -> str | None:
    """Return a name in the form of DNS and SMTP, ``None`` if it has none; ASCII stays as it is.

    Symbols that IDNA 2008 no longer allows (RFC 5892) are written as IDNA 2003 wrote them, because
    some domains were registered with them.
    """
    if name.isascii():
        return name
    try:
        return normalize(name) or name.encode("idna").decode()
    except UnicodeError:
        return None


def is_public_suffix(name: str) -> bool:
    """Tell whether anyone may register names below ``name``, such as ``co.uk``."""
    return _suffixes().publicsuffix(name) == name


def parents(name: str) -> tuple[str, ...]:
    """Return the names above ``name`` that one owner can have, the nearest first.

    Names with empty labels, such as ``..``, are not domain names and do not count.

    >>> parents("a.b.example.co.uk")
    ('b.example.co.uk', 'example.co.uk')
    """
    above = []
    while (name := name.partition(".")[2]) and not is_public_suffix(name):
        above.append(name)
    return tuple(each for each in above if all(each.split(".")))


def have_one_owner(name: str, other: str) -> bool:
    """Tell whether two names have the same organizational domain (RFC 7489 3.2)."""
    return (name, *parents(name))[-1] == (other, *parents(other))[-1]


def is_within(name: str, other: str) -> bool:
    """Tell whether ``name`` is ``other`` or below it."""
    return name == other or name.endswith("." + other)


def _a_labels(text: str) -> str:
    import idna

    try:
        return idna.encode(text, uts46=True).decode()
    except UnicodeError as error:
        raise BadName("it is not an internationalised domain name") from error


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()
