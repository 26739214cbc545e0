"""Resolve names at one place of a template: data, or the variables of the loops around it."""

from __future__ import annotations

from dataclasses import dataclass, field

from jinja2 import nodes

from .mentions import Mentions
from .tree import call


@dataclass(slots=True)
class Scope:
    """The names of the arrays of the loops around a place, outermost first.

    ``snippet`` is true for the content of a snippet, which may not include other content.
    ``mentions`` notes the variables and snippets that the template names.
    """

    snippet: bool
    loops: list[str] = field(default_factory=list)
    mentions: Mentions = field(default_factory=Mentions)

    def variable(self, name: str, line: int) -> nodes.Expr:
        """Return the node that reads a variable.

        Outside loops the loop variables are data too: those of the loop around a snippet or dynamic
        content.
        """
        if self.loops and name == "loop_var":
            return item(len(self.loops), line)
        if self.loops and name == "loop_index":
            return index(len(self.loops), line)
        if self.loops and name == "loop_vars":
            return self._loop_vars(line)
        return nodes.Getitem(
            nodes.ContextReference(lineno=line), nodes.Const(name), "load", lineno=line
        )

    def loop_item(self, name: str, line: int) -> nodes.Expr | None:
        """Return the node of the current element of the innermost loop over ``name``."""
        for level in range(len(self.loops), 0, -1):
            if self.loops[level - 1] == name:
                return item(level, line)
        return None

    def loop_data(self, line: int) -> nodes.Expr:
        """Return the node of the loop variables for a fragment rendered here, or of nothing."""
        if not self.loops:
            return nodes.Const(None)
        names = ("loop_var", "loop_index", "loop_vars")
        pairs = [nodes.Pair(nodes.Const(name), self.variable(name, line)) for name in names]
        return nodes.Dict(pairs, lineno=line)

    def _loop_vars(self, line: int) -> nodes.Expr:
        levels = {name: level for level, name in enumerate(self.loops, 1)}
        pairs = [nodes.Pair(nodes.Const(name), item(at, line)) for name, at in levels.items()]
        variables = nodes.Dict(pairs, lineno=line)
        return call("loop_variables", variables, line=line)


def item(level: int, line: int, use: str = "load") -> nodes.Name:
    """Return the node of the current element of the loop at ``level``, from 1."""
    return nodes.Name(f"item_{level}", use, lineno=line)


def index(level: int, line: int, use: str = "load") -> nodes.Name:
    """Return the node of the current index of the loop at ``level``."""
    return nodes.Name(f"index_{level}", use, lineno=line)
