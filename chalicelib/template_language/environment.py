"""Configure Jinja2 as the engine of the language: code generator, lookups, operators, filters.

Everything that Jinja2 offers to templates is removed: there are no globals, no filters and tests
except ours, and no calls; a lookup reaches only items of dicts and lists. Operators use the
language's own arithmetic. Nothing is evaluated at compile time.
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
    """Generates code where the language differs from Jinja2: `and`/`or`, lookups, printing."""

    def visit_Or(self, node: nodes.BinExpr, frame: Frame) -> None:
        """Write ``left or right``: the left operand if it is true by Lua's rules."""
        result_name = self.temporary_identifier()
        self.write(f"({result_name} if ")
        self._write_truth(result_name, node.left, frame)
        self.write(" else ")
        self.visit(node.right, frame)
        self.write(")")

    def visit_And(self, node: nodes.BinExpr, frame: Frame) -> None:
        """Write ``left and right``: the left operand if it is false by Lua's rules."""
        result_name = self.temporary_identifier()
        self.write("(")
        self.visit(node.right, frame)
        self.write(" if ")
        self._write_truth(result_name, node.left, frame)
        self.write(f" else {result_name})")

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:
        """Write a lookup; top-level variables have a function of their own."""
        if not isinstance(node.node, nodes.ContextReference):
            super().visit_Getitem(node, frame)
            return
        self.write("resolve(")
        self.visit(node.arg, frame)
        self.write(")")

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        """Write nothing before a printed expression, because printing filters return text."""

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        """Write nothing after a printed expression."""

    def _write_truth(self, result_name: str, node: nodes.Expr, frame: Frame) -> None:
        self.write(f"({result_name} := ")
        self.visit(node, frame)
        self.write(f") is not None and {result_name} is not False")


class LanguageEnvironment(ImmutableSandboxedEnvironment):
    """The environment in which all templates are compiled."""

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

    # Compiled templates call these for every lookup, so they are plain functions, not methods.
    getitem = staticmethod(values.item)  # type: ignore[assignment]
    getattr = staticmethod(values.item)  # type: ignore[assignment]

    def call(self, *_: Any, **__: Any) -> Any:
        """Refuse calls: the language has none, its macros are filters."""
        raise SecurityError("nothing can be called")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Calculate a binary operation."""
        return values.calculate(operator, left, right)

    def call_unop(self, context: Context, operator: str, arg: Any) -> Any:
        """Calculate a unary minus."""
        return values.negate(arg)


ENVIRONMENT = LanguageEnvironment()
