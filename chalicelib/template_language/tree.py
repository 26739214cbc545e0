"""Build small pieces of the tree that Jinja2 compiles."""

from __future__ import annotations

from jinja2 import nodes


def call(function: str, first: nodes.Expr, *rest: nodes.Expr, line: int) -> nodes.Filter:
    """Return the call of one of the environment's filters."""
    return nodes.Filter(first, function, list(rest), [], None, None, lineno=line)


def ask(test: str, first: nodes.Expr, *rest: nodes.Expr, line: int) -> nodes.Test:
    """Return the call of one of the environment's tests, which gives a boolean."""
    return nodes.Test(first, test, list(rest), [], None, None, lineno=line)


def condition(node: nodes.Expr) -> nodes.Expr:
    """Return a node that is true in Python exactly if ``node`` is true by Lua's rules."""
    is_boolean = isinstance(node, (nodes.Test, nodes.Not))
    return node if is_boolean else ask("true", node, line=node.lineno)


def balanced(kind: type[nodes.BinExpr], operands: list[nodes.Expr], line: int) -> nodes.Expr:
    """Return `a or b or c ...` as a flat tree, since its grouping does not matter."""
    while len(operands) > 1:
        pairs = [operands[at : at + 2] for at in range(0, len(operands), 2)]
        operands = [kind(*pair, lineno=line) if len(pair) == 2 else pair[0] for pair in pairs]
    return operands[0]


def string_of(node: nodes.Expr) -> str | None:
    """Return the value of a string node, else ``None``."""
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else None


def depth(node: nodes.Node) -> int:
    """Return how deep nodes are nested."""
    levels, level = 0, [node]
    while level:
        levels += 1
        level = [child for parent in level for child in parent.iter_child_nodes()]
    return levels
