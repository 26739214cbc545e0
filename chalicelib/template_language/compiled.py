"""Compile parts once, cache them by a hash of their source, and render them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from sys import getsizeof
from types import TracebackType
from typing import Any

from jinja2 import Template

from .budget import Budget
from .cache import SizedCache
from .chunks import Chunks, literal
from .context import RenderContext, Run, SnippetSource
from .environment import ENVIRONMENT
from .errors import Fault, TemplateRenderError, TemplateSyntaxError
from .output import JOIN, drop_newline
from .parser import TemplateParser
from .parts import TemplatePart
from .scanner import Cuts, scan

CACHED_PARTS = 256
CACHED_BYTES = 16 * 1024 * 1024


class CompiledPart:
    """One part, ready to render; safe to share between threads.

    ``is_static`` is true if the source contains no tags of this language: rendering then returns
    the source for any data. No output has a NUL, which some readers take for the end of a text.
    """

    def __init__(
        self, part: TemplatePart, source: str, cuts: Cuts, template: Template | None
    ) -> None:
        self.part = part
        self.is_static = template is None
        self._static = literal(source) if template is None else None
        self._template = template
        self._literals = _literals(template) if template else frozenset()
        self._joins = bool(cuts.joins)

    def memory(self) -> int:
        """Return the bytes that the part keeps: a template with many tags is mostly code."""
        if self._static is not None:
            return sum(map(getsizeof, self._static.texts))
        assert self._template is not None
        code = self._template.root_render_func.__code__
        return sum(map(getsizeof, (code, code.co_linetable, self._literals, *code.co_consts)))

    def render(
        self,
        data: Mapping[str, Any],
        *,
        snippets: SnippetSource | None = None,
        owner_snippets: SnippetSource | None = None,
        dynamic: Mapping[str, Any] | None = None,
        budget: Budget | None = None,
    ) -> str:
        """Return the output for merged ``data`` of JSON types, as one text.

        The arguments and errors are those of :meth:`chunks`.
        """
        chunks = self.chunks(
            data,
            snippets=snippets,
            owner_snippets=owner_snippets,
            dynamic=dynamic,
            budget=budget,
        )
        return str(chunks)

    def chunks(
        self,
        data: Mapping[str, Any],
        *,
        snippets: SnippetSource | None = None,
        owner_snippets: SnippetSource | None = None,
        dynamic: Mapping[str, Any] | None = None,
        budget: Budget | None = None,
    ) -> Chunks:
        """Return the output for merged ``data`` of JSON types.

        ``snippets`` looks snippets up; its exceptions pass. ``owner_snippets`` looks up those that
        ``snippets`` lacks and that the part calls by literal ids. ``dynamic`` is the transmission's
        own substitution data, the only source of dynamic content. ``budget`` limits this part, or
        several parts that share it. Raises TemplateRenderError.
        """
        if self._static is not None:
            return self._static
        budget = budget or Budget()
        budget.start()
        run = Run(self.part, budget, snippets, dynamic or {}, _compile, owner_snippets)
        try:
            return self._expanded(data, run)
        except Fault as fault:
            raise TemplateRenderError(self.part, fault.line or 1, fault.detail) from None

    def expand(self, data: Mapping[str, Any], run: Run) -> str:
        """Return the output as a piece of ``run``. Raises Fault with its line."""
        return str(self._expanded(data, run))

    def _expanded(self, data: Mapping[str, Any], run: Run) -> Chunks:
        if self._static is not None:
            return self._static
        assert self._template is not None
        texts = self._template.root_render_func(RenderContext(ENVIRONMENT, data, run))
        try:
            return Chunks(_joined(texts) if self._joins else list(texts), self._literals)
        except Fault as fault:
            raise Fault(fault.detail, self._line(fault.__traceback__)) from None

    def _line(self, traceback: TracebackType | None) -> int:
        """Return the line of the template that a traceback passes through."""
        assert self._template is not None
        code = self._template.root_render_func.__code__
        while traceback is not None:
            if traceback.tb_frame.f_code is code:
                return self._template.get_corresponding_lineno(traceback.tb_lineno)
            traceback = traceback.tb_next
        return 1


_CACHE: SizedCache[CompiledPart] = SizedCache(
    most=CACHED_PARTS, most_bytes=CACHED_BYTES, size_of=CompiledPart.memory
)


def compile_part(source: str, part: TemplatePart) -> CompiledPart:
    """Return the compiled part. Raises TemplateSyntaxError."""
    return _compile(source, part, False)


def compile_snippet(source: str, part: TemplatePart) -> CompiledPart:
    """Return compiled snippet content, which may not include other content (spec 2.4).

    Raises TemplateSyntaxError.
    """
    return _compile(source, part, True)


def _compile(source: str, part: TemplatePart, snippet: bool) -> CompiledPart:
    source = source.replace("\0", "")
    digest = blake2b(source.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return _CACHE.get(
        (digest, part, snippet), lambda: compile_uncached(source, part, snippet=snippet)
    )


def compile_uncached(source: str, part: TemplatePart, *, snippet: bool = False) -> CompiledPart:
    """Compile a part without the cache. Raises TemplateSyntaxError."""
    try:
        cuts = scan(source, mustache=part.kind == "amp_html")
        template = _template(cuts, part, snippet) if cuts.tags else None
    except Fault as fault:
        raise TemplateSyntaxError(part, fault.line or 1, fault.detail) from None
    except (RecursionError, MemoryError):
        raise TemplateSyntaxError(part, 1, "the template is too complex") from None
    return CompiledPart(part, source, cuts, template)


def _template(cuts: Cuts, part: TemplatePart, snippet: bool) -> Template:
    tree = TemplateParser(cuts, part, snippet=snippet).parse()
    tree.set_environment(ENVIRONMENT)
    template = Template.from_code(ENVIRONMENT, ENVIRONMENT.compile(tree), {})
    # Both refer back to these globals: a template that left the cache, whose code may be megabytes,
    # would stay until Python looks for cycles, which it seldom does
    for name in ("root", "__jinja_template__"):
        del template.root_render_func.__globals__[name]
    return template


def _literals(template: Template) -> frozenset[str]:
    """Return the texts that a compiled template writes: the constants of its code."""
    constants = template.root_render_func.__code__.co_consts
    return frozenset(each for each in constants if isinstance(each, str))


def _joined(chunks: Iterable[str]) -> list[str]:
    """Join the chunks, without the newlines that the template removes."""
    output: list[str] = []
    for chunk in chunks:
        if chunk is JOIN:
            drop_newline(output)
        elif chunk:
            output.append(chunk)
    return output
