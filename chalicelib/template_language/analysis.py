"""Find all errors of syntax in a part with their places, and what the part names.

An editor needs every error at once. A bad tag is skipped and a bad expression counts as one, so the
blocks around them still match and cause no further errors.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any, NamedTuple

from .compiled import compile_part, compile_snippet
from .errors import Fault, Span, TemplateError, TemplateSyntaxError
from .mentions import Keys, Mentions, has_value, name_of
from .parser import TemplateParser
from .parts import TemplatePart
from .scanner import scan

MOST_ERRORS = 100

_NEWLINE = re.compile(r"\n")


class Place(NamedTuple):
    """Where something is in a part: line and column from 1, and its length, in characters.

    A place may go on in later lines.
    """

    line: int
    column: int
    length: int


@dataclass(frozen=True, slots=True)
class LocatedError:
    """An error of syntax and its place; a template that is too complex has none."""

    error: TemplateError
    place: Place | None

    def as_dict(self) -> dict[str, Any]:
        """Return the error object, with its column and length if it has a place."""
        place = self.place
        columns = {"column": place.column, "length": place.length} if place else {}
        return self.error.as_dict() | columns


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that a part names: its ``name`` as templates write it, and its first place.

    ``is_optional``: the part copes with data that has no value for it.
    """

    keys: Keys
    place: Place
    is_optional: bool

    @property
    def name(self) -> str:
        """Return the variable as templates write it, such as ``user.names[1]``."""
        return name_of(self.keys)

    def is_in(self, data: Any) -> bool:
        """Tell whether merged data holds a value for the variable."""
        return has_value(data, self.keys)


@dataclass(frozen=True, slots=True)
class Analysis:
    """The errors of a part in the order of their places, at most ``MOST_ERRORS``; what it names.

    ``snippets`` has the first place of each snippet that is named literally, by id. Variables of
    loops are not among the ``variables``: an array's elements may differ.
    """

    errors: list[LocatedError]
    variables: list[Variable]
    snippets: dict[str, Place]


class _Enough(Exception):
    """No more errors are collected."""


def analyse(source: str, part: TemplatePart, *, snippet: bool = False) -> Analysis:
    """Return the errors and the names of a part; ``snippet``: it is the content of a snippet."""
    faults: list[Fault] = []
    mentions = Mentions()

    def report(fault: Fault) -> None:
        faults.append(fault)
        if len(faults) >= MOST_ERRORS:
            raise _Enough

    try:
        cuts = scan(source, mustache=part.kind == "amp_html", report=report)
        TemplateParser(cuts, part, snippet=snippet, report=report, mentions=mentions).parse()
    except _Enough:
        pass
    except Fault as fault:
        faults.append(fault)
    except (RecursionError, MemoryError):
        pass  # compiling says so
    places = Places(source)
    errors = [_located(fault, part, places) for fault in faults]
    return Analysis(
        sorted(errors, key=lambda each: each.place or Place(1, 1, 0))
        or _error_of_compiling(source, part, snippet),
        _variables(mentions, places),
        {name: places.of(span) for name, span in mentions.snippets.items()},
    )


def _variables(mentions: Mentions, places: Places) -> list[Variable]:
    needs = set(mentions.needs)
    return [
        Variable(keys, places.of(span), keys not in needs)
        for keys, span in mentions.variables.items()
    ]


def _located(fault: Fault, part: TemplatePart, places: Places) -> LocatedError:
    place = places.of(fault.span) if fault.span else None
    line = place.line if place else fault.line or 1
    return LocatedError(TemplateSyntaxError(part, line, fault.detail), place)


def _error_of_compiling(source: str, part: TemplatePart, snippet: bool) -> list[LocatedError]:
    try:
        (compile_snippet if snippet else compile_part)(source, part)
    except TemplateSyntaxError as error:
        return [LocatedError(error, None)]
    return []


class Places:
    """Translates spans of a source to places."""

    def __init__(self, source: str) -> None:
        self._line_starts = [0, *(match.end() for match in _NEWLINE.finditer(source))]

    def of(self, span: Span) -> Place:
        """Return the place of a span."""
        line = bisect_right(self._line_starts, span.start)
        return Place(line, span.start - self._line_starts[line - 1] + 1, span.end - span.start)
