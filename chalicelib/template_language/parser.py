"""Parse a template's blocks from tags to the tree that Jinja2 compiles, without recursion.

Errors of grammar, and nesting too deep for the compilers after this parser, are reported as faults
with their lines. The caller decides whether the first one ends the parse. If not, a bad expression
counts as one, so that the blocks around it still match; the tree is then of no use.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jinja2 import nodes

from chalicelib.core.text_urls import Brackets

from .errors import Fault, Report, Span, stop_at
from .expressions import ExpressionParser
from .lexer import Tag
from .links import either, state_after
from .mentions import Mentions
from .parts import TemplatePart
from .reader import TokenReader
from .scanner import Cuts
from .scope import Scope, index, item
from .tree import call, condition

DEEPEST_BLOCKS = 25
DEEPEST_LOOPS = 10
MOST_BRANCHES = 500


@dataclass(slots=True)
class Branch:
    """A sequence of statements and its cost without inner blocks; ``test`` None: always taken."""

    test: nodes.Expr | None = None
    body: list[nodes.Node] = field(default_factory=list)
    steps: int = 1
    characters: int = 0


@dataclass(slots=True)
class Block:
    """An open block: the template itself, an `if` or an `each`; the last branch is being read.

    ``link`` tells whether the block began inside a link, ``link_behind`` whether any branch read so
    far ended inside one (``links``).
    """

    kind: str
    line: int
    span: Span
    link: Brackets | None
    branches: list[Branch]
    array: nodes.Expr | None = None
    link_behind: Brackets | None = None


class TemplateParser:
    """Builds the tree of one template.

    ``report`` gets each fault. ``mentions`` notes the variables and snippets.
    """

    def __init__(
        self,
        cuts: Cuts,
        part: TemplatePart,
        *,
        snippet: bool,
        report: Report = stop_at,
        mentions: Mentions | None = None,
    ) -> None:
        self._cuts = cuts
        self._part = part
        self._report = report
        self._scope = Scope(snippet, mentions=mentions or Mentions())
        self._blocks = [Block("template", 1, Span(0, 0), None, [Branch()])]
        self._link: Brackets | None = None

    def parse(self) -> nodes.Template:
        """Return the tree."""
        line = 1
        for number, tag in enumerate(self._cuts.tags):
            self._read_text(number, line)
            line = tag.line
            self._branch.steps += len(tag.tokens)
            match tag.statement:
                case None:
                    self._print(tag)
                case "if":
                    self._open_if(tag)
                case "each":
                    self._open_each(tag)
                case "end":
                    self._close(tag, joins=number in self._cuts.joins)
                case _:
                    self._next_branch(tag)
        self._read_text(len(self._cuts.tags), line)
        for block in reversed(self._blocks[1:]):
            self._report(Fault(f"'{block.kind}' is missing its 'end'", block.line, block.span))
        return nodes.Template(self._blocks[0].branches[-1].body, lineno=1)

    @property
    def _branch(self) -> Branch:
        return self._blocks[-1].branches[-1]

    def _read_text(self, number: int, line: int) -> None:
        if self._part.kind != "header":
            markup = self._part.escapes_html
            self._link = state_after(self._cuts.sources[number], self._link, markup=markup)
        if text := self._cuts.texts[number]:
            self._print_text(text, line)

    def _print_text(self, text: str, line: int) -> None:
        self._branch.characters += len(text)
        self._emit(nodes.TemplateData(text, lineno=line))

    def _emit(self, node: nodes.Expr) -> None:
        body = self._branch.body
        if body and isinstance(body[-1], nodes.Output):
            body[-1].nodes.append(node)
        else:
            body.append(nodes.Output([node], lineno=node.lineno))

    def _print(self, tag: Tag) -> None:
        node = self._expression(tag, 0)
        if isinstance(node, nodes.TemplateData):
            self._print_text(node.data, tag.line)
        elif tag.raw:
            self._emit(call("plain", node, line=tag.line))
        elif self._link is not None:
            self._emit(call("url", node, line=tag.line))
        else:
            printer = "html" if self._part.escapes_html else "plain"
            self._emit(call(printer, node, line=tag.line))

    def _expression(self, tag: Tag, position: int, *, then: bool = False) -> nodes.Expr:
        """Read the expression from ``position`` to the end of a tag; a `then` may follow it."""
        return self._named_expression(tag, position, then=then)[0]

    def _named_expression(
        self, tag: Tag, position: int, *, then: bool = False
    ) -> tuple[nodes.Expr, str]:
        """Read an expression; return it and, if it is a path, its last name."""
        parser = ExpressionParser(tag.tokens, position, self._scope)
        try:
            node = parser.parse()
            parser.finish(then=then)
        except Fault as fault:
            if not tag.broken:  # otherwise its fault is reported
                self._report(fault)
            return nodes.Const(None, lineno=tag.line), ""
        path = parser.paths.get(node)
        return node, path.name if path else ""

    def _finish(self, tag: Tag) -> None:
        """Report a fault if a tag has more than its keyword."""
        try:
            TokenReader(tag.tokens, 1).finish()
        except Fault as fault:
            self._report(fault)

    def _open(self, block: Block) -> None:
        if len(self._blocks) > DEEPEST_BLOCKS:
            text = f"blocks are nested more than {DEEPEST_BLOCKS} deep"
            self._report(Fault(text, block.line, block.span))
        self._blocks.append(block)

    def _open_if(self, tag: Tag) -> None:
        self._scope.mentions.tests.append(set())
        self._open(Block("if", tag.line, tag.span, self._link, [Branch(self._test(tag))]))

    def _open_each(self, tag: Tag) -> None:
        array, name = self._named_expression(tag, 1)
        self._scope.loops.append(name)
        if len(self._scope.loops) > DEEPEST_LOOPS:
            text = f"loops are nested more than {DEEPEST_LOOPS} deep"
            self._report(Fault(text, tag.line, tag.span))
        self._open(Block("each", tag.line, tag.span, self._link, [Branch()], array))

    def _test(self, tag: Tag) -> nodes.Expr:
        mentions = self._scope.mentions
        first = len(mentions.needs)
        test = condition(self._expression(tag, 1, then=True))
        mentions.excuse_test(first)
        return test

    def _next_branch(self, tag: Tag) -> None:
        """Begin the branch of an `elseif` or `else`."""
        block = self._blocks[-1]
        if block.kind != "if" or block.branches[-1].test is None:
            self._report(Fault(f"a lone '{tag.statement}' was detected", tag.line, tag.span))
            return
        if sum(len(around.branches) for around in self._blocks) > MOST_BRANCHES:
            text = f"more than {MOST_BRANCHES} branches in one another"
            self._report(Fault(text, tag.line, tag.span))
        test = None
        if tag.statement == "elseif":
            test = self._test(tag)
        else:
            self._finish(tag)
        block.branches.append(Branch(test))
        block.link_behind = either(block.link_behind, self._link)
        self._link = block.link

    def _close(self, tag: Tag, *, joins: bool) -> None:
        if len(self._blocks) == 1:
            self._report(Fault("a lone 'end' was detected", tag.line, tag.span))
            return
        self._finish(tag)
        block = self._blocks.pop()
        if block.kind == "if":
            self._scope.mentions.tests.pop()
        self._branch.body.append(self._each(block) if block.kind == "each" else self._if(block))
        self._link = either(self._link, block.link_behind)
        if block.branches[-1].test is not None or block.kind == "each":
            self._link = either(self._link, block.link)
        if joins:
            self._emit(call("join", nodes.Const(None), line=tag.line))

    def _each(self, block: Block) -> nodes.For:
        level, line, branch = len(self._scope.loops), block.line, block.branches[0]
        self._scope.loops.pop()
        assert block.array is not None
        costs = nodes.Const(branch.steps), nodes.Const(branch.characters)
        turns = call("turns", block.array, *costs, line=line)
        names: list[nodes.Expr] = [index(level, line, "store"), item(level, line, "store")]
        target = nodes.Tuple(names, "store", lineno=line)
        return nodes.For(target, turns, branch.body, [], None, False, lineno=line)

    def _if(self, block: Block) -> nodes.If:
        if self._scope.loops:
            for branch in block.branches:
                costs = nodes.Const(branch.steps), nodes.Const(branch.characters)
                spend = call("spend", *costs, line=block.line)
                branch.body.insert(0, nodes.ExprStmt(spend, lineno=block.line))
        first, *others = block.branches
        otherwise = others.pop().body if others and others[-1].test is None else []
        elseifs = [
            nodes.If(branch.test, branch.body, [], [], lineno=_line(branch)) for branch in others
        ]
        return nodes.If(first.test, first.body, elseifs, otherwise, lineno=block.line)


def _line(branch: Branch) -> int:
    assert branch.test is not None
    return branch.test.lineno
