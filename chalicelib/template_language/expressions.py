"""Parse expressions from tokens to the nodes that Jinja2 compiles.

Binding, loosest first, as in Lua: `or`; `and`; comparison; `+ -`; `* /`; unary `not # -`; then
paths. Operators of the same precedence group from the left. The depth of brackets and of the tree
is limited, so that neither this parser nor the compilers after it recurse too deep.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jinja2 import nodes

from .errors import Fault, shown
from .lexer import Token
from .reader import TokenReader
from .scope import Scope
from .tree import ask, balanced, call, condition, depth, string_of
from .words import CURLIES, DYNAMIC

MOST_NESTING = 20
DEEPEST_TREE = 60

_BINDING = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 3),
    **dict.fromkeys("+-", 4),
    **dict.fromkeys("*/", 5),
}
_LOGIC = {"or": nodes.Or, "and": nodes.And}
_ARITHMETIC = {"+": nodes.Add, "-": nodes.Sub, "*": nodes.Mul, "/": nodes.Div}
_CONSTANTS = {"true": True, "false": False, "nil": None}


class Path(NamedTuple):
    """A path as written, such as ``user.names[1]``, and its last name, here ``names``."""

    text: str
    name: str


class ExpressionParser(TokenReader):
    """Reads one expression; raises Fault with its line.

    Afterwards ``paths`` has the source text of every node that is a path.
    """

    def __init__(self, tokens: list[Token], position: int, scope: Scope) -> None:
        super().__init__(tokens, position)
        self.paths: dict[nodes.Expr, Path] = {}
        self._scope = scope
        self._nesting = 0

    def parse(self) -> nodes.Expr:
        """Return the expression's node."""
        start = self.position
        node = self._operation(1)
        if self.position - start > DEEPEST_TREE and depth(node) > DEEPEST_TREE:
            first = self.tokens[start]
            raise Fault("the expression is too deeply nested", first.line, first.span)
        return node

    def _operation(self, loosest: int) -> nodes.Expr:
        """Read operands and the operators between them, down to the precedence ``loosest``."""
        mentions = self._scope.mentions
        first = last = len(mentions.needs)
        left = self._operand()
        while (binding := self._binding()) >= loosest:
            operator = self.token
            operands = [left]
            while self.accept(operator.text):
                last = len(mentions.needs)
                operands.append(self._operation(binding + 1))
                if operator.text not in _LOGIC:
                    break
            if operator.text in _LOGIC:
                mentions.excuse(first, last)
            left = self._operate(operator, operands)
        return left

    def _binding(self) -> int:
        return _BINDING.get(self.token.text, 0) if self.at(*_BINDING) else 0

    def _operate(self, operator: Token, operands: list[nodes.Expr]) -> nodes.Expr:
        name, line = operator.text, operator.line
        if name in _LOGIC:
            return balanced(_LOGIC[name], operands, line)
        if name in ("==", "!="):
            return ask(name, *operands, line=line)
        left, right = map(self._required, operands)
        if name in _ARITHMETIC:
            return _ARITHMETIC[name](left, right, lineno=line)
        return ask(name, left, right, line=line)

    def _operand(self) -> nodes.Expr:
        self._nesting += 1
        if self._nesting > MOST_NESTING:
            raise Fault("the expression is too deeply nested", self.token.line, self.token.span)
        line = self.token.line
        if self.accept("not"):
            node: nodes.Expr = nodes.Not(condition(self._operand()), lineno=line)
        elif self.accept("-"):
            node = nodes.Neg(self._required(self._operand()), lineno=line)
        elif self.accept("#"):
            node = call("length", self._required(self._operand()), line=line)
        elif self.accept("("):
            node = self._brackets()
        else:
            node = self._value(self.token)
        self._nesting -= 1
        return node

    def _brackets(self) -> nodes.Expr:
        inner = self._operation(1)
        self.expect(")")
        if not self.at(".", "["):
            return inner
        return self._path(inner, self.paths.get(inner, Path("(...)", "")))

    def _value(self, token: Token) -> nodes.Expr:
        if token.kind == "name":
            self.position += 1
            return self._macro(token) if self.accept("(") else self._variable(token)
        if token.kind in ("number", "string"):
            value: Any = token.value
        elif self.at(*_CONSTANTS):
            value = _CONSTANTS[token.text]
        else:
            raise self.unexpected()
        self.position += 1
        return nodes.Const(value, lineno=token.line)

    def _variable(self, token: Token) -> nodes.Expr:
        if token.text == "loop_vars" and (name := self._name_of_part()) is not None:
            node = self._scope.loop_item(name, token.line)
            if node is not None:
                self.position += 2 if self.at(".") else 3
                return self._path(node, Path(shown(f"loop_vars.{name}"), name))
        root = self._scope.variable(token.text, token.line)
        node = self._path(root, Path(shown(token.text), token.text))
        if isinstance(root, nodes.Getitem):
            self._scope.mentions.add_variable(token, (), node)
        return node

    def _name_of_part(self) -> str | None:
        """Return NAME if `.NAME` or `['NAME']` comes next, without consuming it."""
        kinds = [token.kind for token in self.tokens[self.position : self.position + 3]]
        texts = [token.text for token in self.tokens[self.position : self.position + 3]]
        if kinds[:2] == ["symbol", "name"] and texts[0] == ".":
            return texts[1]
        if kinds == ["symbol", "string", "symbol"] and texts[0] == "[" and texts[2] == "]":
            return str(self.tokens[self.position + 1].value)
        return None

    def _path(self, node: nodes.Expr, path: Path) -> nodes.Expr:
        """Read the `.name` and `[key]` that follow ``node``, which was written as ``path``."""
        while True:
            line = self.token.line
            if self.accept("."):
                if self.token.kind != "name":
                    raise self.unexpected()
                name = self.token.text
                key: nodes.Expr = nodes.Const(name, lineno=line)
                path = Path(shown(f"{path.text}.{name}"), name)
                self.position += 1
            elif self.accept("["):
                first = self.position
                key = self._operation(1)
                text = "".join(token.text for token in self.tokens[first : self.position])
                path = Path(shown(f"{path.text}[{text}]"), string_of(key) or path.name)
                self.expect("]")
            else:
                self.paths[node] = path
                return node
            node = nodes.Getitem(node, key, "load", lineno=line)

    def _macro(self, token: Token) -> nodes.Expr:
        name, line = token.text, token.line
        if name in CURLIES:
            node: nodes.Expr = nodes.TemplateData(CURLIES[name], lineno=line)
        elif name == "empty":
            node = ask(name, self._operation(1), line=line)
        elif name in ("render_snippet", "render_dynamic_content"):
            if self._scope.snippet:
                raise Fault(f"{name} cannot be used in a snippet", line, token.span)
            node = self._snippet(line) if name == "render_snippet" else self._dynamic_content(line)
        else:
            raise Fault(f"macro '{shown(name)}' does not exist", line, token.span)
        self.expect(")")
        return node

    def _snippet(self, line: int) -> nodes.Expr:
        token, snippet_id = self.token, self._operation(1)
        literal = string_of(snippet_id)
        if literal is not None:
            self._scope.mentions.add_snippet(token, literal)
        is_literal = nodes.Const(literal is not None)
        loop = self._scope.loop_data(line)
        return call("render_snippet", self._required(snippet_id), is_literal, loop, line=line)

    def _dynamic_content(self, line: int) -> nodes.Expr:
        token, name = self.token, self.token.text
        if name not in DYNAMIC or self.token.kind != "name":
            names = ", ".join(sorted(DYNAMIC))
            text = f"render_dynamic_content takes a value of {names}"
            raise Fault(text, line, self.token.span)
        self.position += 1
        path = Path(name, name)
        root = call("dynamic_root", nodes.Const(name), line=line)
        self.paths[root] = path
        node = self._path(self._required(root), path)
        self._scope.mentions.add_variable(token, (name,), node)
        label = nodes.Const(self.paths[node].text)
        loop = self._scope.loop_data(line)
        return call("render_dynamic_content", self._required(node), label, loop, line=line)

    def _required(self, node: nodes.Expr) -> nodes.Expr:
        """Return ``node``; if it is a path without a value, it will raise a fault with its name."""
        path = self.paths.get(node)
        if path is None:
            return node
        return call("required", node, nodes.Const(path.text), line=node.lineno)
