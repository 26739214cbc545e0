"""Jinja2 made into the language's machine: code generator, lookups, operators, filters, tests.

Everything Jinja2 offers a template by itself is taken away: there are no globals, no filters or
tests but ours, no calls, and a lookup reaches items of dicts and lists only. Operators go
through the language's own arithmetic. Nothing is folded at compile time.
"""

from __future__ import annotations

from typing import Any

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from . import macros, output, values
from .loops import spend, turns


class LanguageCodeGenerator(CodeGenerator):
    """Writes what the language does otherwise: `and`/`or`, top-level lookups, printing."""

    def visit_Or(self, node: nodes.BinExpr, frame: Frame) -> None:
        """Write ``left or right``: the left operand when it is true in Lua's sense."""
        held = self.temporary_identifier()
        self.write(f"({held} if ")
        self._write_truth(held, node.left, frame)
        self.write(" else ")
        self.visit(node.right, frame)
        self.write(")")

    def visit_And(self, node: nodes.BinExpr, frame: Frame) -> None:
        """Write ``left and right``: the left operand when it is untrue in Lua's sense."""
        held = self.temporary_identifier()
        self.write("(")
        self.visit(node.right, frame)
        self.write(" if ")
        self._write_truth(held, node.left, frame)
        self.write(f" else {held})")

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:
        """Write a lookup; that of a top-level variable through the function made for it."""
        if not isinstance(node.node, nodes.ContextReference):
            super().visit_Getitem(node, frame)
            return
        self.write("resolve(")
        self.visit(node.arg, frame)
        self.write(")")

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        """Write nothing before a printed expression: it is a printing filter, which gives text."""

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        """Write nothing after it either."""

    def _write_truth(self, held: str, node: nodes.Expr, frame: Frame) -> None:
        self.write(f"({held} := ")
        self.visit(node, frame)
        self.write(f") is not None and {held} is not False")


class LanguageEnvironment(ImmutableSandboxedEnvironment):
    """The one environment all templates are compiled in."""

    code_generator_class = LanguageCodeGenerator
    intercepted_binops = frozenset("+-*/")
    intercepted_unops = frozenset("-")

    def __init__(self) -> None:
        super().__init__(optimized=False, autoescape=False, cache_size=0)
        self.globals = {}
        self.filters = {
            "html": output.print_html,
            "url": output.print_url,
            "plain": output.print_plain,
            "join": output.join,
            "length": values.length,
            "required": values.required,
            "turns": turns,
            "spend": spend,
            "render_snippet": macros.render_snippet,
            "render_dynamic_content": macros.render_dynamic_content,
            "dynamic_root": macros.dynamic_root,
            "loop_variables": macros.loop_variables,
        }
        self.tests = {
            "true": values.is_true,
            "empty": values.is_empty,
            "==": values.equals,
            "!=": values.differs,
            "<": values.less,
            "<=": values.less_or_equal,
            ">": values.greater,
            ">=": values.greater_or_equal,
        }

    # Compiled templates call these for every lookup: the functions themselves, no method around.
    getitem = staticmethod(values.item)  # type: ignore[assignment]
    getattr = staticmethod(values.item)  # type: ignore[assignment]

    def call(self, *_: Any, **__: Any) -> Any:
        """Refuse: the language has no calls, its macros are filters."""
        raise SecurityError("nothing can be called")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Do arithmetic."""
        return values.calculate(operator, left, right)

    def call_unop(self, context: Context, operator: str, arg: Any) -> Any:
        """Do unary minus."""
        return values.negate(arg)


ENVIRONMENT = LanguageEnvironment()
