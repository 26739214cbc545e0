"""Find the domain that somebody meant who mistyped one of a well-known mail provider.

Real domains differ from well-known ones by one letter as well (``mail.com`` and ``gmail.com``), so
what counts as a typo depends on whether the domain takes mail:

- A domain that takes none is compared with all free providers, and may differ by two letters from
  a long name. Behind the name only a slip counts, not another country.
- A domain that takes mail is only compared with the most used providers, because their typos are
  registered by others. It must be a slip of the hand: two letters swapped, one left out, doubled or
  hit beside, or a slip in ``com``. The first letter must be right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chalicelib.recipient_validation.free_providers import DOMAINS, GIANTS, is_free

_SHORT = 4  # names of fewer letters resemble too many others
_LONG = 6  # two slips in a name of so many letters still leave it recognisable
_COUNTRY = 2  # letters of a country's domain
_MANY = 9
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_COM: Final = frozenset(("con", "cmo", "ocm", "cm", "co", "om", "comm", "coom", "vom", "xom", "c"))
#: Domains with mail of their own that look like slips, and are not
_REAL: Final = frozenset(("gail.com", "hitmail.com"))
_PARTS: Final = {domain: tuple(domain.split(".", 1)) for domain in DOMAINS}


def _neighbours() -> dict[str, frozenset[str]]:
    beside: dict[str, set[str]] = {}
    for row, keys in enumerate(_KEYBOARD):
        for place, key in enumerate(keys):
            near = beside.setdefault(key, set())
            near.update(keys[max(0, place - 1) : place + 2])
            if row:
                above = _KEYBOARD[row - 1][place : place + 2]
                near.update(above)
                for other in above:
                    beside[other].add(key)
    return {key: frozenset(near - {key}) for key, near in beside.items()}


_BESIDE = _neighbours()


def intended_domain(domain: str, *, takes_mail: bool) -> str | None:
    """Return the domain that was probably meant, ``None`` if ``domain`` seems to be meant itself.

    >>> intended_domain("gmial.com", takes_mail=True)
    'gmail.com'
    >>> intended_domain("hotmaill.co.uk", takes_mail=False)
    'hotmail.co.uk'
    """
    if is_free(domain) or domain in _REAL:
        return None
    return _slip_of_a_giant(domain) if takes_mail else _nearest(domain)


def _slip_of_a_giant(domain: str) -> str | None:
    name, _, suffix = domain.partition(".")
    for giant in GIANTS:
        meant, _, com = giant.partition(".")
        if suffix in _COM and name == meant:
            return giant
        if suffix == com and len(meant) > _SHORT and _is_slip(name, meant):
            return giant
    return None


def _is_slip(name: str, meant: str) -> bool:
    """Tell whether one slip of the hand, behind the first letter, makes ``meant`` to ``name``."""
    return name[:1] == meant[:1] and name in _slips(meant)


def _slips(meant: str) -> Iterator[str]:
    for place in range(1, len(meant)):
        before, letter, after = meant[:place], meant[place], meant[place + 1 :]
        yield before + after
        yield before + letter + letter + after
        if after:
            yield before + after[0] + letter + after[1:]
        for other in _BESIDE.get(letter, ()):
            yield before + other + after


def _nearest(domain: str) -> str | None:
    """Return the free provider that differs least, the most used one of several."""
    name, _, suffix = domain.partition(".")
    best, least = None, 3
    for candidate, (meant, meant_suffix) in _PARTS.items():
        most = min(_allowance(meant, name), least - 1)
        slips = _suffix_slips(suffix, meant_suffix)
        if slips <= most and abs(len(meant) - len(name)) <= most - slips:
            distance = slips + edit_distance(name, meant)
            if 0 < distance <= most:
                best, least = candidate, distance
    return best


def _allowance(meant: str, name: str) -> int:
    """Return how many slips may be between a domain without mail and a provider's."""
    if name == meant:
        return 1
    if len(meant) < _SHORT or (meant[0] != name[:1] and name[:2] != meant[1::-1]):
        return 0
    return 2 if len(meant) >= _LONG else 1


def _suffix_slips(suffix: str, meant: str) -> int:
    """Return how many slips make ``meant`` to ``suffix``: none, one, or too many.

    A provider's name in another country is no slip: there it may be a domain that was given up.
    """
    if suffix == meant:
        return 0
    if meant == "com":
        return 1 if suffix in _COM else _MANY
    top, meant_top = suffix.rpartition(".")[2], meant.rpartition(".")[2]
    if len(top) == len(meant_top) == _COUNTRY and top not in (meant_top, meant_top[::-1]):
        return _MANY
    is_near = abs(len(suffix) - len(meant)) <= 1 and edit_distance(suffix, meant) == 1
    return 1 if is_near else _MANY


def edit_distance(text: str, other: str) -> int:
    """Return how many letters to insert, delete, replace or swap (optimal string alignment).

    >>> edit_distance("gmial.com", "gmail.com")
    1
    """
    before_last: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(text, 1):
        row = [i]
        for j, target in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != target))
            if i > 1 and j > 1 and letter == other[j - 2] and text[i - 2] == target:
                cost = min(cost, before_last[j - 2] + 1)
            row.append(cost)
        before_last, last = last, row
    return last[-1]
