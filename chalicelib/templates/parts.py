"""Fill in the parts of a content object that are in the template language (spec 2.2).

:func:`fill_parts` walks a content object and lets a function make a text of each part: the
renderer to send or to preview it, a compiler to find its faults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from chalicelib.core.json_types import Json
from chalicelib.template_language import (
    AMP_HTML,
    HTML,
    TEXT,
    Budget,
    SnippetSource,
    TemplatePart,
    compile_part,
    header,
)
from chalicelib.templates.prebuilt import PrebuiltContent

Fill = Callable[[str, TemplatePart], str]
"""Returns the text that replaces a part, from the part's source and its kind."""

_PARTS = {
    "subject": header("Subject"),
    "reply_to": header("Reply-To"),
    "text": TEXT,
    "html": HTML,
    "amp_html": AMP_HTML,
}
_FROM = header("From")


def fill_parts(content: Mapping[str, Any], fill: Fill) -> Json:
    """Return ``content`` with each of its parts filled; it has the same keys in the same form.

    ``email_rfc822`` becomes the whole message, with CRLF line ends; raises ``MessageError`` when it
    is not a message. Exceptions of ``fill`` pass through.
    """
    if "email_rfc822" in content:
        message = PrebuiltContent(content["email_rfc822"].encode(), is_new=True)
        return {"email_rfc822": message.filled(fill).decode("utf-8", "replace")}
    filled: Json = {}
    if "from" in content:
        filled["from"] = _filled_from(content["from"], fill)
    filled |= {name: fill(content[name], part) for name, part in _PARTS.items() if name in content}
    if "headers" in content:
        filled["headers"] = {
            name: fill(value, header(name)) for name, value in content["headers"].items()
        }
    return filled


def renderer(
    data: Mapping[str, Any],
    dynamic: Mapping[str, Any],
    snippets: SnippetSource | None = None,
    owner_snippets: SnippetSource | None = None,
) -> Fill:
    """Return the function that renders the parts of one message within one budget.

    ``data`` is merged; ``dynamic`` is the transmission-level data, the only source of dynamic
    content. The sources of snippets are as in ``CompiledPart.render``. It raises ``TemplateError``.
    """
    budget = Budget()

    def render(source: str, part: TemplatePart) -> str:
        compiled = compile_part(source, part)
        return compiled.render(
            data, snippets=snippets, owner_snippets=owner_snippets, dynamic=dynamic, budget=budget
        )

    return render


def _filled_from(sender: str | Mapping[str, str], fill: Fill) -> str | dict[str, str]:
    if isinstance(sender, str):
        return fill(sender, _FROM)
    return {name: fill(text, _FROM) for name, text in sender.items()}
