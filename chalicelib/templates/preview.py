"""Render content with the data of a caller, without sending it (spec 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.core.addresses import read_mailbox
from chalicelib.core.errors import ApiErrors, render_error
from chalicelib.core.json_types import Json
from chalicelib.template_language import (
    SnippetSource,
    TemplateError,
    TemplatePart,
    merge_data,
)
from chalicelib.templates.parts import fill_parts, renderer


def preview(
    content: Mapping[str, Any],
    data: Json,
    snippets: SnippetSource,
    owner_snippets: SnippetSource | None = None,
) -> Json:
    """Return the parts that ``content`` has, rendered; raises 422 with a fault of each bad part.

    ``from`` becomes an object with ``email``, and ``name`` where there is one. Data stands for the
    transmission's: it may hold dynamic content, and values for the automatic variables. The
    sources of snippets are as in ``CompiledPart.render``.
    """
    render = renderer(merge_data(transmission_data=data), data, snippets, owner_snippets)
    faults: list[TemplateError] = []

    def rendered(source: str, part: TemplatePart) -> str:
        try:
            return render(source, part)
        except TemplateError as fault:
            faults.append(fault)
            return ""

    try:
        results = fill_parts(content, rendered)
    except ValueError as fault:  # a value that a header of email_rfc822 cannot hold
        raise render_error(str(fault)) from None
    if faults:
        raise ApiErrors(422, [fault.as_dict() for fault in faults])
    if "from" in results:
        results["from"] = _sender(results["from"])
    return results


def _sender(sender: str | Mapping[str, str]) -> Mapping[str, str]:
    if not isinstance(sender, str):
        return sender
    mailbox = read_mailbox(sender)
    if mailbox is None:
        return {"email": sender}
    return {"email": mailbox.email} | ({"name": mailbox.name} if mailbox.name else {})
