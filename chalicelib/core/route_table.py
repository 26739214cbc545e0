"""Find the route of a path in a tree of path segments, by the rules of API Gateway.

A fixed segment wins over a parameter at the same position. One trailing slash is ignored (spec
1.1); paths are case sensitive (spec 1.2). Parameters are returned percent-encoded, as in the path.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Match(NamedTuple):
    """A route's path, such as ``/templates/{template_id}``, and its encoded parameters."""

    route: str
    parameters: dict[str, str]


@dataclass(slots=True)
class _Node:
    fixed: dict[str, _Node] = field(default_factory=dict)
    parameter: _Node | None = None
    parameter_name: str = ""
    route: str | None = None
    parameter_positions: tuple[tuple[int, str], ...] = ()


class RouteTable:
    """The paths of all routes."""

    def __init__(self) -> None:
        self._root = _Node()

    def add(self, route: str) -> None:
        """Add a route's path; raises ``ValueError`` if API Gateway could not have it."""
        if not route.startswith("/") or (route.endswith("/") and route != "/"):
            raise ValueError(f"a route begins with a slash and does not end with one: {route}")
        node, positions = self._root, []
        for index, segment in enumerate(route[1:].split("/")):
            if segment.startswith("{") and segment.endswith("}"):
                node = _parameter_node(node, segment[1:-1], route)
                positions.append((index, segment[1:-1]))
            else:
                node = node.fixed.setdefault(segment, _Node())
        node.route, node.parameter_positions = route, tuple(positions)

    def match(self, path: str) -> Match | None:
        """Return the route of a percent-encoded path without query, or ``None``."""
        if not path.startswith("/"):
            return None
        if path.endswith("/") and path != "/":
            path = path[:-1]
        segments = path[1:].split("/")
        node = _find(self._root, segments, 0)
        if node is None or node.route is None:
            return None
        return Match(
            node.route, {name: segments[index] for index, name in node.parameter_positions}
        )


def _parameter_node(node: _Node, name: str, route: str) -> _Node:
    if node.parameter is None:
        node.parameter, node.parameter_name = _Node(), name
    elif node.parameter_name != name:
        # API Gateway allows one name for the parameter at one position of the tree.
        raise ValueError(f"{{{name}}} in {route} is called {{{node.parameter_name}}} elsewhere")
    return node.parameter


def _find(node: _Node, segments: list[str], index: int) -> _Node | None:
    if index == len(segments):
        return node if node.route is not None else None
    segment = segments[index]
    if (child := node.fixed.get(segment)) and (leaf := _find(child, segments, index + 1)):
        return leaf
    if node.parameter and segment:
        return _find(node.parameter, segments, index + 1)
    return None
