"""Hold the state of one render: the data of the template and its remaining budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from jinja2.runtime import Context

from .budget import Budget
from .parts import TemplatePart

if TYPE_CHECKING:
    from jinja2 import Environment

SnippetSource = Callable[[str], Mapping[str, Any] | None]
"""Finds a snippet's content (keys html, text, amp_html) by its id, or None."""


class Fragment(Protocol):
    """A compiled piece of content that is rendered inside a part."""

    def expand(self, data: Mapping[str, Any], run: Run) -> str:
        """Return the output; raises Fault."""


@dataclass(slots=True)
class Run:
    """The state that a part shares with the snippets and dynamic content rendered inside it.

    ``compiler`` compiles a fragment from source text (of a snippet if its last argument is true)
    and raises TemplateSyntaxError. ``owner_snippets`` finds those of the account that shares the
    template. ``depth`` counts nested fragments.
    """

    part: TemplatePart
    budget: Budget
    snippets: SnippetSource | None
    dynamic: Mapping[str, Any]
    compiler: Callable[[str, TemplatePart, bool], Fragment]
    owner_snippets: SnippetSource | None = None
    depth: int = 0


class RenderContext(Context):
    """Jinja2's context with the run; the data is looked up and never copied."""

    def __init__(self, environment: Environment, data: Mapping[str, Any], run: Run) -> None:
        super().__init__(environment, data, None, {})  # type: ignore[arg-type]
        self.run = run
        self.budget = run.budget

    @property
    def resolve_or_missing(self) -> Callable[[str], Any]:
        """Return the lookup of top-level variables; a missing one is nil.

        Compiled templates fetch this once and call it for each variable. For speed it is the data's
        own ``get`` and not a method that calls it.
        """
        return self.parent.get
