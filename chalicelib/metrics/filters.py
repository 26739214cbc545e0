"""Filter mail by conditions on its dimensions (spec 4.11).

A filter consists of groups, which must all hold. A group holds if all of its terms hold, or if any
of them holds. A term compares one dimension with some texts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from chalicelib.core.fields import whole_number
from chalicelib.core.query import Query, delimited_list
from chalicelib.metrics.model import BY_FILTER_KEY, DIMENSIONS, POSITION, SUBACCOUNT, Values

EQUAL: Final = "eq"

Texts = frozenset[str]

#: The forms of a value (``Dimension.forms``)
Forms = tuple[str, ...]


def _equals(forms: Forms, texts: Texts) -> bool:
    return forms[0] in texts


def _contains(forms: Forms, texts: Texts) -> bool:
    return any(text in form for form in forms for text in texts)


COMPARATORS: Final[dict[str, Callable[[Forms, Texts], bool]]] = {
    EQUAL: _equals,
    "like": _contains,
    "notEq": lambda forms, texts: not _equals(forms, texts),
    "notLike": lambda forms, texts: not _contains(forms, texts),
}
_OF_PARTS: Final = frozenset(("like", "notLike"))


class Term(NamedTuple):
    """One comparison of the dimension at ``position``."""

    position: int
    comparator: str
    texts: Texts

    def holds(self, values: Values) -> bool:
        """Tell whether these values pass."""
        forms = DIMENSIONS[self.position].forms(values[self.position])
        return COMPARATORS[self.comparator](forms, self.texts)


class Group(NamedTuple):
    """Terms of which ``any`` or all must hold."""

    terms: tuple[Term, ...]
    any: bool = False

    def holds(self, values: Values) -> bool:
        """Tell whether these values pass."""
        results = (term.holds(values) for term in self.terms)
        return any(results) if self.any else all(results)


@dataclass(frozen=True, slots=True)
class Filter:
    """Groups, all of which must hold."""

    groups: tuple[Group, ...] = ()

    def holds(self, values: Values) -> bool:
        """Tell whether mail with these values passes."""
        return all(group.holds(values) for group in self.groups)

    @property
    def positions(self) -> frozenset[int]:
        """The dimensions that are compared."""
        return frozenset(term.position for group in self.groups for term in group.terms)

    def only(self, position: int) -> Texts | None:
        """Return the values that a dimension can have in mail that passes; ``None`` for any."""
        texts: Texts | None = None
        for group in self.groups:
            for term in group.terms if len(group.terms) == 1 or not group.any else ():
                if term.position == position and term.comparator == EQUAL:
                    texts = term.texts if texts is None else texts & term.texts
        return texts

    def confined_to(self, subaccount_id: int | None) -> Filter:
        """Return this filter for one subaccount's mail only; ``None`` changes nothing."""
        if subaccount_id is None:
            return self
        term = Term(POSITION[SUBACCOUNT.name], EQUAL, frozenset((str(subaccount_id),)))
        return Filter((*self.groups, Group((term,))))


def term(filter_key: str, comparator: str, texts: list[str]) -> Term:
    """Return a comparison by its public names; domains may be in any spelling."""
    dimension = BY_FILTER_KEY[filter_key]
    read = dimension.part if comparator in _OF_PARTS else dimension.canonical
    return Term(POSITION[dimension.name], comparator, frozenset(map(read, texts)))


def read_simple(query: Query) -> Filter:
    """Read the simple filters, which are lists of values; raises 400."""
    terms = []
    for filter_key in BY_FILTER_KEY:
        texts = delimited_list(query, filter_key)
        if filter_key == SUBACCOUNT.filter_key:
            texts = [whole_number(filter_key, text) for text in texts]
        if texts:
            terms.append(term(filter_key, EQUAL, texts))
    return Filter((Group(tuple(terms)),)) if terms else Filter()
