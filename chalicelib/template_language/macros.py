"""Render the macros that include other content: snippets and dynamic content (spec 2.4).

Both render with the data of the part and, inside a loop, with its loop variables. Their output is
printed without escaping.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import pass_context

from .context import RenderContext
from .errors import Fault, TemplateSyntaxError, shown
from .output import Rendered
from .values import type_name

SNIPPETS_PER_PART = 5
NESTED_FRAGMENTS = 5
_FRAGMENT_STEPS = 100  # finding and setting up a fragment, in steps


@pass_context
def render_snippet(
    context: RenderContext, snippet_id: Any, loop: Mapping[str, Any] | None = None
) -> str:
    """Return the rendered snippet, using its content for this kind of part.

    A missing snippet, a sixth call in one part, and a fault inside the snippet are faults.
    """
    if not isinstance(snippet_id, str):
        raise Fault(f"render_snippet takes the id of a snippet, not a {type_name(snippet_id)}")
    run = context.run
    run.snippet_calls += 1
    if run.snippet_calls > SNIPPETS_PER_PART:
        raise Fault(f"render_snippet may be called at most {SNIPPETS_PER_PART} times")
    name = f"snippet '{shown(snippet_id)}'"
    content = run.snippets(snippet_id) if run.snippets else None
    if content is None:
        raise Fault(f"{name} does not exist")
    source = content.get(run.part.content_key)
    if not isinstance(source, str):
        raise Fault(f"{name} has no {run.part.content_key} content")
    return _expand(context, source, loop, name, snippet=True)


@pass_context
def render_dynamic_content(
    context: RenderContext, source: Any, label: str, loop: Mapping[str, Any] | None = None
) -> str:
    """Return the rendered source, a value of dynamic_html, dynamic_plain or dynamic_amp_html."""
    if not isinstance(source, str):
        raise Fault(f"substitution value '{label}' is not a string of content")
    return _expand(context, source, loop, f"dynamic content '{label}'", snippet=False)


@pass_context
def dynamic_root(context: RenderContext, name: str) -> Any:
    """Return the object ``name`` of the transmission's own data, never a recipient's."""
    return context.run.dynamic.get(name)


@pass_context
def loop_variables(context: RenderContext, loops: Mapping[str, Any]) -> dict[str, Any]:
    """Return the complete ``loop_vars``: those of this source override those around it."""
    outer = context.parent.get("loop_vars")
    return {**outer, **loops} if isinstance(outer, dict) else dict(loops)


def _expand(
    context: RenderContext,
    source: str,
    loop: Mapping[str, Any] | None,
    name: str,
    *,
    snippet: bool,
) -> str:
    """Render a fragment; its characters are charged when the result is printed."""
    run = context.run
    if run.depth >= NESTED_FRAGMENTS:
        raise Fault(f"{name} is nested more than {NESTED_FRAGMENTS} deep")
    run.budget.work(_FRAGMENT_STEPS)
    run.budget.check_clock()
    characters = run.budget.characters
    run.depth += 1
    try:
        fragment = run.compiler(source, run.part, snippet)
        output = fragment.expand({**context.parent, **loop} if loop else context.parent, run)
    except TemplateSyntaxError as error:
        raise Fault(f"{name}: line {error.line}: {error.detail}") from None
    except Fault as fault:
        raise Fault(f"{name}: {fault.located()}") from None
    run.depth -= 1
    run.budget.characters = characters
    return Rendered(output)
