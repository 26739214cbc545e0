"""Recognise the rows that a service exports, by their columns and by the words in them.

What is not recognised is never taken: a list of customers has addresses as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from postfinch.importing.exports.model import Entry, NotUnderstood, Row

#: Names of the column with the address, as services and APIs spell it
ADDRESS = ("email", "emailaddress", "address", "recipient", "recipientemail")
#: Columns with times, which every list may have
_TIMES = frozenset({"created", "createdat", "lasteventat", "lastupdate", "lastupdatetime"})
_MOST_COLUMNS = 8


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of row: it has a column of each group of ``needs``.

    Where another list could have the same columns, it has no others than those, times, and ``may``.
    """

    name: str
    needs: tuple[tuple[str, ...], ...]
    read: Callable[[Row], Iterator[Entry]]
    may: frozenset[str] | None = None

    def fits(self, row: Row) -> bool:
        """Tell whether a row has the columns of this form."""
        columns = row.values.keys()
        if not all(any(name in columns for name in group) for group in self.needs):
            return False
        if self.may is None:
            return True
        columns_of_form = {name for group in self.needs for name in group}
        return columns <= columns_of_form | self.may | _TIMES

    def __str__(self) -> str:
        groups = ("address" if group is ADDRESS else " or ".join(group[:2]) for group in self.needs)
        return f"{self.name} ({', '.join(groups)})"


@dataclass(frozen=True, slots=True)
class Service:
    """What a service exports; ``title`` is its name."""

    title: str
    forms: Sequence[Form]

    def entries(self, row: Row) -> Iterator[Entry]:
        """Yield what a row means."""
        for form in self.forms:
            if form.fits(row):
                yield from form.read(row)
                return
        yield NotUnderstood(f"a row has {_shown(row)}")

    @property
    def expectation(self) -> str:
        """What the files of this service have."""
        return f"{self.title} exports {'; '.join(map(str, self.forms))}"


def not_in(words: Sequence[str], row: Row, *names: str) -> NotUnderstood:
    """Return that a column has none of the words that the service writes there."""
    column = next((name for name in names if row.has(name)), names[0])
    return NotUnderstood(f"{column} is {row.text(*names)[:40]!r}, and none of {', '.join(words)}")


def _shown(row: Row) -> str:
    columns = list(row.values)
    more = f" and {len(columns) - _MOST_COLUMNS} more" if len(columns) > _MOST_COLUMNS else ""
    names = ", ".join(name[:40] for name in columns[:_MOST_COLUMNS])
    return f"{names or 'no column with a name'}{more}"
