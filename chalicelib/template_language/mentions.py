"""Note the variables and snippets that a template names, and where.

Variables of loops are left out: what they hold depends on the elements of an array. A mention is
excused if the template copes with a variable without a value: before an `or` or `and`, in the test
of an `if`, and inside its block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jinja2 import nodes

from .errors import Span
from .lexer import Token

Keys = tuple[str | int | float, ...]


@dataclass(slots=True)
class Mentions:
    """The first place of each variable, by its keys from the root, and of each snippet, by id.

    ``needs`` has the variable of each mention that is not excused, in their order, and ``tests``
    the variables that each open `if` tests.
    """

    variables: dict[Keys, Span] = field(default_factory=dict)
    snippets: dict[str, Span] = field(default_factory=dict)
    needs: list[Keys] = field(default_factory=list)
    tests: list[set[Keys]] = field(default_factory=list)

    def add_variable(self, token: Token, root: Keys, path: nodes.Expr) -> None:
        """Note the variable at ``token``; ``path`` is its node, below the keys ``root``."""
        keys = (*root, *_keys(path))
        self.variables.setdefault(keys, token.span)
        beginnings = {keys[:length] for length in range(1, len(keys) + 1)}
        if all(beginnings.isdisjoint(test) for test in self.tests):
            self.needs.append(keys)

    def excuse(self, start: int, end: int | None = None) -> None:
        """Excuse the mentions of ``needs[start:end]``."""
        del self.needs[start:end]

    def excuse_test(self, start: int) -> None:
        """Excuse ``needs[start:]``, the mentions in a test of the innermost `if`, and its block."""
        if self.tests:
            self.tests[-1].update(self.needs[start:])
        self.excuse(start)

    def add_snippet(self, token: Token, snippet_id: str) -> None:
        """Note the snippet whose id is written out at ``token``."""
        self.snippets.setdefault(snippet_id, token.span)


def _keys(path: nodes.Expr) -> Keys:
    """Return the keys of a path, without those from the first that only the data can tell."""
    keys: list[str | int | float] = []
    while isinstance(path, nodes.Getitem):
        if isinstance(path.arg, nodes.Const) and isinstance(path.arg.value, (str, int, float)):
            keys.append(path.arg.value)
        else:
            keys.clear()
        path = path.node
    return tuple(reversed(keys))


def name_of(keys: Keys) -> str:
    """Return a variable as a template writes it, such as ``user.names[1]``."""
    first, *others = keys
    steps = (
        f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]" for key in others
    )
    return f"{first}{''.join(steps)}"


def has_value(data: Any, keys: Keys) -> bool:
    """Tell whether data holds a value other than null for a variable."""
    for key in keys:
        if isinstance(data, Mapping):
            data = data.get(key) if isinstance(key, str) else None
        elif isinstance(data, Sequence) and not isinstance(data, str):
            index = key if isinstance(key, (int, float)) and not isinstance(key, bool) else 0
            data = data[int(index) - 1] if 1 <= index <= len(data) and index % 1 == 0 else None
        else:
            return False
    return data is not None
