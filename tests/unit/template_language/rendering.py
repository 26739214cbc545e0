"""One call from template to output, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from chalicelib.template_language import (
    HTML,
    Budget,
    SnippetSource,
    TemplatePart,
    TemplateRenderError,
    TemplateSyntaxError,
    compile_part,
)


def render(
    template: str,
    data: Mapping[str, Any] | None = None,
    part: TemplatePart = HTML,
    *,
    snippets: SnippetSource | None = None,
    owner_snippets: SnippetSource | None = None,
    dynamic: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
) -> str:
    """Return the output of a template."""
    compiled = compile_part(template, part)
    return compiled.render(
        data or {},
        snippets=snippets,
        owner_snippets=owner_snippets,
        dynamic=dynamic,
        budget=budget,
    )


def render_fault(template: str, data: Mapping[str, Any] | None = None, **options: Any) -> str:
    """Return the detail of the error that rendering ends with."""
    with pytest.raises(TemplateRenderError) as error_info:
        render(template, data, **options)
    return error_info.value.detail


def syntax_fault(template: str, part: TemplatePart = HTML) -> str:
    """Return the detail of the error that compiling ends with."""
    with pytest.raises(TemplateSyntaxError) as error_info:
        compile_part(template, part)
    return error_info.value.detail
