"""Render the macros that include other content: snippets and dynamic content (spec 2.4).

Both render with the data of the part and, inside a loop, with its loop variables. Their output is
printed without escaping.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import pass_context

from .context import RenderContext, Run
from .errors import Fault, TemplateSyntaxError, shown
from .output import Rendered
from .values import type_name

NESTED_FRAGMENTS = 5
_FRAGMENT_STEPS = 100  # finding and setting up a fragment, in steps


@pass_context
def render_snippet(
    context: RenderContext,
    snippet_id: Any,
    is_literal: bool,
    loop: Mapping[str, Any] | None = None,
) -> str:
    """Return the rendered snippet: its content for this kind of part, or nothing if it has none.

    ``is_literal``: the source writes out the id. A missing snippet, a sixth call in all parts of a
    template, and a fault inside the snippet are faults.
    """
    if not isinstance(snippet_id, str):
        raise Fault(f"render_snippet takes the id of a snippet, not a {type_name(snippet_id)}")
    run = context.run
    run.budget.call_snippet()
    name = f"snippet '{shown(snippet_id)}'"
    content = _snippet(run, snippet_id, is_literal=is_literal)
    if content is None:
        raise Fault(f"{name} does not exist")
    return _expand(context, content.get(run.part.content_key, ""), loop, name, snippet=True)


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


def _snippet(run: Run, snippet_id: str, *, is_literal: bool) -> Mapping[str, Any] | None:
    """Return a snippet of the sender, or one of the template's owner that the template names.

    Ids in the sender's data, and calls in the sender's dynamic content, reach only the sender's.
    """
    content = run.snippets(snippet_id) if run.snippets else None
    is_of_template = is_literal and run.depth == 0
    if content is None and is_of_template and run.owner_snippets:
        content = run.owner_snippets(snippet_id)
    return content


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
