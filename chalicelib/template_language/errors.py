"""Define the errors of templates as API callers see them (spec 2.3, spec 7).

Compiling a part raises `TemplateSyntaxError` (code 3000), rendering it `TemplateRenderError`
(3001). Inside the package a `Fault` carries the detail until the part is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from .parts import TemplatePart

_SHOWN = 60


class Span(NamedTuple):
    """Where a piece of a source begins and ends, in characters from the source's beginning."""

    start: int
    end: int


class Fault(Exception):
    """A failure with its ``detail`` and, once known, its ``line``; never leaves the package.

    Faults of syntax also have their ``span``.
    """

    def __init__(self, detail: str, line: int | None = None, span: Span | None = None) -> None:
        self.detail = detail
        self.line = line
        self.span = span
        super().__init__(detail)

    def located(self) -> str:
        """Return the detail, with its line in front if the line is known."""
        return self.detail if self.line is None else f"line {self.line}: {self.detail}"


Report = Callable[[Fault], None]
"""Gets each fault of syntax; reading goes on after it unless it raises an exception."""


def stop_at(fault: Fault) -> None:
    """Raise the first fault: for callers that need no other."""
    raise fault


class TemplateError(Exception):
    """A template that cannot be used: ``code``, ``message``, ``part``, ``line``, ``detail``."""

    code: ClassVar[str]
    message: ClassVar[str]
    activity: ClassVar[str]

    def __init__(self, part: TemplatePart, line: int, detail: str) -> None:
        self.part = part
        self.line = line
        self.detail = detail
        super().__init__(self.description)

    @property
    def description(self) -> str:
        """The full text: ``Error while compiling part html: line 3: a lone 'end' was detected``."""
        return f"Error while {self.activity} {self.part.title}: line {self.line}: {self.detail}"

    def as_dict(self) -> dict[str, Any]:
        """Return the error object: message, code, description, part (its label) and line."""
        return {
            "message": self.message,
            "code": self.code,
            "description": self.description,
            "part": self.part.label,
            "line": self.line,
        }


class TemplateSyntaxError(TemplateError):
    """The template does not follow the grammar, or passes a limit on its size."""

    code = "3000"
    message = "substitution language syntax error in template content"
    activity = "compiling"


class TemplateRenderError(TemplateError):
    """The template does not work with this data, or passes a limit on its output."""

    code = "3001"
    message = "substitution render error"
    activity = "rendering"


def near(text: str) -> str:
    """Return the usual detail for an unexpected ``text``."""
    return f"syntax error near '{shown(text)}'"


def shown(text: str) -> str:
    """Return text for a message, shortened if it is long."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
