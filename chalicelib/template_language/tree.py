"""Small pieces of the tree that Jinja2 compiles."""

from __future__ import annotations

from jinja2 import nodes


def call(function: str, first: nodes.Expr, *rest: nodes.Expr, line: int) -> nodes.Filter:
    """Return the call of one of the environment's filters."""
    return nodes.Filter(first, function, list(rest), [], None, None, lineno=line)


def ask(test: str, first: nodes.Expr, *rest: nodes.Expr, line: int) -> nodes.Test:
    """Return the call of one of the environment's tests, which gives a boolean."""
    return nodes.Test(first, test, list(rest), [], None, None, lineno=line)


def condition(node: nodes.Expr) -> nodes.Expr:
    """Return a node whose value is true in Python exactly when ``node`` is true in Lua."""
    is_boolean = isinstance(node, (nodes.Test, nodes.Not))
    return node if is_boolean else ask("true", node, line=node.lineno)


def balanced(kind: type[nodes.BinExpr], operands: list[nodes.Expr], line: int) -> nodes.Expr:
    """Return `a or b or c ...` as a tree of little depth: how it is grouped does not matter."""
    while len(operands) > 1:
        pairs = [operands[at : at + 2] for at in range(0, len(operands), 2)]
        operands = [kind(*pair, lineno=line) if len(pair) == 2 else pair[0] for pair in pairs]
    return operands[0]


def string_of(node: nodes.Expr) -> str | None:
    """Return the string that a node is, if it is one."""
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else None


def depth(node: nodes.Node) -> int:
    """Return how many nodes stand in one another."""
    found, level = 0, [node]
    while level:
        found += 1
        level = [child for parent in level for child in parent.iter_child_nodes()]
    return found
