"""Content with its substitutions made, for one recipient (spec 2.2).

The template language compiles each part once (it caches by content) and renders it per recipient.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chalicelib.core.addresses import Mailbox, read_mailbox
from chalicelib.generation.compose import Rendered
from chalicelib.template_language import (
    AMP_HTML,
    HTML,
    TEXT,
    Part,
    TemplateError,
    compile_part,
    header,
)

Json = dict[str, Any]


class RenderFault(Exception):
    """The content could not be rendered for this recipient; the text says where and why."""


def render(content: Json, data: Mapping[str, Any], dynamic: Mapping[str, Any]) -> Rendered:
    """Return ``content`` rendered with ``data``; raises :class:`RenderFault`.

    ``dynamic`` is the transmission-level data, the only source of dynamic content.
    """

    def part(source: str, kind: Part) -> str:
        try:
            return compile_part(source, kind).render(data, dynamic=dynamic)
        except TemplateError as error:
            raise RenderFault(f"[internal] {error.description}") from None

    def optional(name: str, kind: Part) -> str | None:
        return part(content[name], kind) if content.get(name) else None

    return Rendered(
        sender=_sender(content["from"], part),
        subject=part(content["subject"], header("Subject")),
        reply_to=optional("reply_to", header("Reply-To")) or "",
        text=optional("text", TEXT),
        html=optional("html", HTML),
        amp_html=optional("amp_html", AMP_HTML),
        headers={
            name: part(value, header(name))
            for name, value in (content.get("headers") or {}).items()
        },
    )


def _sender(given: str | Json, part: Any) -> Mailbox:
    kind = header("From")
    text = part(given if isinstance(given, str) else given["email"], kind)
    mailbox = read_mailbox(text)
    if mailbox is None:
        raise RenderFault(f"[internal] From evaluates to an invalid address: {text[:300]!r}")
    if isinstance(given, str) or not given.get("name"):
        return mailbox
    return Mailbox(mailbox.email, part(given["name"], kind))
