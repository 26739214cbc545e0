"""Render content for one recipient: fill in its parts, then apply the ``override`` (spec 2.1, 2.2).

The template language compiles each part once (it caches by content) and renders it per recipient.
Nothing is substituted in an override. An overriding From without a name keeps the content's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chalicelib.core.addresses import Mailbox, read_mailbox
from chalicelib.generation.compose import Rendered
from chalicelib.generation.faults import RenderFault
from chalicelib.template_language import TemplateError
from chalicelib.templates.parts import Fill, fill_parts

Json = dict[str, Any]

_HEADER_PARTS = ("from", "subject", "reply_to", "headers")
_BODIES = ("text", "html", "amp_html")


def render(
    content: Json, fill: Fill, override: Json | None = None, *, verbatim_bodies: bool = False
) -> Rendered:
    """Return ``content`` with its parts filled in and ``override`` applied.

    Raises :class:`RenderFault`. With ``verbatim_bodies`` only From, subject, Reply-To and headers
    are filled in (spec 2.1, ``perform_substitutions``).
    """
    bodies = {name: content[name] for name in _BODIES if content.get(name)}
    headers = {name: content[name] for name in _HEADER_PARTS if content.get(name)}
    try:
        values = fill_parts(headers if verbatim_bodies else headers | bodies, fill)
    except TemplateError as error:
        raise RenderFault(f"[internal] {error.description}") from None
    parts = bodies | values
    rendered = Rendered(sender=_sender(parts.pop("from")), subject=parts.pop("subject"), **parts)
    return _overridden(rendered, override) if override else rendered


def overriding_sender(value: str | Json, name: str) -> Mailbox:
    """Return the From of ``override.from``; ``name`` is the name of the From that it replaces."""
    text = value if isinstance(value, str) else value["email"]
    mailbox = read_mailbox(text)
    if mailbox is None:
        raise RenderFault(f"[internal] override.from is an invalid address: {text[:300]!r}")
    own_name = mailbox.name if isinstance(value, str) else value.get("name") or mailbox.name
    return Mailbox(mailbox.email, own_name or name)


def list_id_header(list_id: str) -> tuple[str, str]:
    """Return the name and value of the List-Id header (RFC 2919)."""
    return "List-Id", f"<{list_id}>"


def _overridden(content: Rendered, override: Json) -> Rendered:
    sender = content.sender
    if override.get("from"):
        sender = overriding_sender(override["from"], sender.name)
    headers = dict(content.headers)
    if override.get("list_id"):
        name, value = list_id_header(override["list_id"])
        headers = {k: v for k, v in headers.items() if k.lower() != name.lower()} | {name: value}
    reply_to = override.get("reply_to") or content.reply_to
    return replace(content, sender=sender, reply_to=reply_to, headers=headers)


def _sender(value: str | Mapping[str, str]) -> Mailbox:
    text = value if isinstance(value, str) else value["email"]
    mailbox = read_mailbox(text)
    if mailbox is None:
        raise RenderFault(f"[internal] From evaluates to an invalid address: {text[:300]!r}")
    if isinstance(value, str) or not value.get("name"):
        return mailbox
    return Mailbox(mailbox.email, value["name"])
