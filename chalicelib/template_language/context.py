"""The state of one render: what the template may see, and what it has left to spend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from jinja2.runtime import Context

from .budget import Budget
from .parts import Part

if TYPE_CHECKING:
    from jinja2 import Environment

SnippetSource = Callable[[str], Mapping[str, Any] | None]
"""Finds a snippet's content (keys html, text, amp_html) by its id, or None."""


class Fragment(Protocol):
    """A compiled piece of content that runs inside the render of a part."""

    def expand(self, data: Mapping[str, Any], run: Run) -> str:
        """Return the output; raises Fault."""


@dataclass(slots=True)
class Run:
    """What is shared by a part and the snippets and dynamic content rendered inside it.

    ``compiler`` makes a fragment of source text (for a snippet when its last argument is true)
    and raises TemplateSyntaxError. ``snippet_calls`` counts up, ``depth`` counts fragments within
    fragments.
    """

    part: Part
    budget: Budget
    snippets: SnippetSource | None
    dynamic: Mapping[str, Any]
    compiler: Callable[[str, Part, bool], Fragment]
    snippet_calls: int = 0
    depth: int = 0


class RenderContext(Context):
    """Jinja2's context, with data that is looked up and never copied, and the run beside it."""

    def __init__(self, environment: Environment, data: Mapping[str, Any], run: Run) -> None:
        super().__init__(environment, data, None, {})  # type: ignore[arg-type]
        self.run = run
        self.budget = run.budget

    @property
    def resolve_or_missing(self) -> Callable[[str], Any]:
        """The lookup of a top-level variable: nil when it is missing.

        Compiled templates fetch this once and call it for each variable, so it is the data's own
        ``get`` rather than a method that calls it.
        """
        return self.parent.get
