"""Normalize domain names, and tell which names one owner can have (the public suffix list).

A name is kept in lower case and in A-labels (RFC 5890): ``Bücher.example`` is
``xn--bcher-kva.example``. Names with characters beyond ASCII are mapped by UTS 46, as browsers do
(non-transitional: ``straße`` is not ``strasse``).

There are three forms: :func:`canonical` for the name of a host or a domain that somebody registers
here, :func:`in_a_labels` for the wire, and :func:`spelling` for whatever is compared, counted or
searched.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

LONGEST = 253
LONGEST_LABEL = 63

#: The dots between labels (UTS 46 4.5): the ASCII one, and those of East Asian scripts
DOTS = ".\u3002\uff0e\uff61"

_ASCII_DOTS = str.maketrans(dict.fromkeys(DOTS[1:], "."))
_PREFIX = "xn--"
# IDNA 2003 maps these to others or to nothing, so that it names another domain (UTS 46 2.3)
_DEVIATIONS = re.compile("[ß\u03c2\u200c\u200d]")
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
    return name if name.isascii() else _wire_form(name)


def spelling(name: str) -> str:
    """Return the one spelling of a name, however it was typed: A-labels in lower case.

    A name that has no such form is composed, in lower case.

    >>> spelling("BÜCHER。Example")
    'xn--bcher-kva.example'
    """
    if name.isascii():
        return name.lower()
    return _wire_form(name) or unicodedata.normalize("NFC", name.lower())


def mapped(text: str) -> str:
    """Return a part of a name as it would be in one: in lower case, composed, with ASCII dots."""
    if text.isascii():
        return text.lower()
    import idna

    try:
        return idna.uts46_remap(text, std3_rules=False, transitional=False)
    except UnicodeError:
        return unicodedata.normalize("NFC", text.lower())


def in_u_labels(name: str) -> str:
    """Return a name as people read it: its A-labels are decoded, as far as they are valid.

    >>> in_u_labels("xn--bcher-kva.example")
    'bücher.example'
    """
    if _PREFIX not in name:
        return name
    return ".".join(map(_u_label, name.split(".")))


def with_ascii_dots(name: str) -> str:
    """Return a name with ASCII dots between its labels."""
    return name.translate(_ASCII_DOTS)


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


@lru_cache(maxsize=4096)
def _wire_form(name: str) -> str | None:
    """Return a name beyond ASCII in A-labels: mapped as a whole, encoded label by label."""
    import idna

    if len(name) > LONGEST:
        return None
    try:
        mapped = idna.uts46_remap(name, std3_rules=False, transitional=False)
        a_labels = ".".join(map(_a_label, mapped.split(".")))
    except UnicodeError:
        return None
    return a_labels if len(a_labels) <= LONGEST else None


def _a_label(label: str) -> str:
    import idna

    if label.isascii():
        return label
    try:
        return idna.alabel(label).decode()
    except UnicodeError:
        if _DEVIATIONS.search(label):
            raise
        return label.encode("idna").decode()


@lru_cache(maxsize=4096)
def _u_label(label: str) -> str:
    if not label.startswith(_PREFIX) or len(label) > LONGEST_LABEL:
        return label
    try:
        decoded = label.removeprefix(_PREFIX).encode("ascii").decode("punycode")
    except UnicodeError:
        return label
    return decoded if in_a_labels(decoded) == label else label


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()
