"""Compile and render the template language of subjects, bodies and headers (spec 2.2, 2.3, 2.4).

``compile_part(source, part)`` parses a part once; the `CompiledPart` renders it with data from
`merge_data`. Templates and data may come from anybody. For any input, compiling and rendering end
within limited time and memory, with output or with a `TemplateError`.

An expression is ``{{ e }}``, or ``{{{ e }}}`` to print without escaping; a statement is an
``if e [then]``, ``elseif e [then]``, ``else``, ``each array`` or ``end`` in the same braces.
Values and operators follow Lua. Details are in the modules: `values` (operations on values),
`expressions` (grammar), `scanner` (rules for blanks), `links` and `escaping` (printing), `macros`
(snippets and dynamic content), `budget` (limits).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .parts import AMP_HTML, HTML, MJML, TEXT, TemplatePart, header

if TYPE_CHECKING:
    from .analysis import Analysis, LocatedError, Place, analyse
    from .budget import Budget
    from .compiled import CompiledPart, compile_part, compile_snippet
    from .context import SnippetSource
    from .data import merge_data, reserved_keys
    from .errors import TemplateError, TemplateRenderError, TemplateSyntaxError

__all__ = [
    "AMP_HTML",
    "HTML",
    "MJML",
    "TEXT",
    "Analysis",
    "Budget",
    "CompiledPart",
    "LocatedError",
    "Place",
    "SnippetSource",
    "TemplateError",
    "TemplatePart",
    "TemplateRenderError",
    "TemplateSyntaxError",
    "analyse",
    "compile_part",
    "compile_snippet",
    "header",
    "merge_data",
    "reserved_keys",
]

# Jinja2 takes a tenth of a function's cold start, and most calls render nothing.
_MODULES = {
    "Analysis": "analysis",
    "Budget": "budget",
    "CompiledPart": "compiled",
    "LocatedError": "analysis",
    "Place": "analysis",
    "SnippetSource": "context",
    "TemplateError": "errors",
    "TemplateRenderError": "errors",
    "TemplateSyntaxError": "errors",
    "analyse": "analysis",
    "compile_part": "compiled",
    "compile_snippet": "compiled",
    "merge_data": "data",
    "reserved_keys": "data",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
