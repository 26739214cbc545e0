"""Content with its substitutions made, for one recipient (spec 2.2).

The template language compiles each part once (it caches by content) and renders it per recipient.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.core.addresses import Mailbox, read_mailbox
from chalicelib.generation.compose import Rendered
from chalicelib.template_language import TemplateError
from chalicelib.templates.parts import Fill, fill_parts

Json = dict[str, Any]

_AROUND = ("from", "subject", "reply_to", "headers")
_BODIES = ("text", "html", "amp_html")


class RenderFault(Exception):
    """The content could not be rendered for this recipient; the text says where and why."""


def render(content: Json, fill: Fill, *, verbatim_bodies: bool = False) -> Rendered:
    """Return ``content`` with its parts filled in by ``fill``; raises :class:`RenderFault`.

    With ``verbatim_bodies`` only From, subject, Reply-To and headers are (spec 2.1,
    ``perform_substitutions``).
    """
    bodies = {name: content[name] for name in _BODIES if content.get(name)}
    around = {name: content[name] for name in _AROUND if content.get(name)}
    try:
        filled = fill_parts(around if verbatim_bodies else around | bodies, fill)
    except TemplateError as error:
        raise RenderFault(f"[internal] {error.description}") from None
    parts = bodies | filled
    return Rendered(sender=_sender(parts.pop("from")), subject=parts.pop("subject"), **parts)


def _sender(given: str | Mapping[str, str]) -> Mailbox:
    text = given if isinstance(given, str) else given["email"]
    mailbox = read_mailbox(text)
    if mailbox is None:
        raise RenderFault(f"[internal] From evaluates to an invalid address: {text[:300]!r}")
    if isinstance(given, str) or not given.get("name"):
        return mailbox
    return Mailbox(mailbox.email, given["name"])
