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
from chalicelib.generation.faults import RenderFault, template_errors_as_faults
from chalicelib.generation.substitution import Filling
from chalicelib.template_language import AMP_HTML, HTML, TEXT
from chalicelib.template_language.chunks import Chunks, literal
from chalicelib.templates.parts import Fill, fill_parts

Json = dict[str, Any]

_HEADER_PARTS = ("from", "subject", "reply_to", "headers")
_BODIES = {"text": TEXT, "html": HTML, "amp_html": AMP_HTML}


def render(
    content: Json, filling: Filling, override: Json | None = None, *, verbatim_bodies: bool = False
) -> Rendered:
    """Return ``content`` with its parts filled in and ``override`` applied.

    Raises :class:`RenderFault`. With ``verbatim_bodies`` only From, subject, Reply-To and headers
    are filled in (spec 2.1, ``perform_substitutions``).
    """
    headers = {name: content[name] for name in _HEADER_PARTS if content.get(name)}
    bodies = {name: part for name, part in _BODIES.items() if content.get(name)}
    with template_errors_as_faults():
        fields = fill_parts(headers, filling.text)
        texts: Json = {
            name: _verbatim(content[name])
            if verbatim_bodies
            else filling.chunks(content[name], part)
            for name, part in bodies.items()
        }
    rendered = Rendered(
        sender=_sender(fields.pop("from")), subject=fields.pop("subject"), **fields, **texts
    )
    return _overridden(rendered, override) if override else rendered


def render_sender(content: Json, fill: Fill, override: Json) -> Mailbox:
    """Return the From alone, without its name; raises :class:`RenderFault`.

    It is for events about messages that cannot be rendered as a whole.
    """
    if override.get("from"):
        return overriding_sender(override["from"], "")
    return _sender(_filled({"from": from_source(content)}, fill)["from"])


def render_subject(content: Json, fill: Fill) -> str:
    """Return the subject alone; raises :class:`RenderFault`."""
    subject: str = _filled({"subject": content.get("subject", "")}, fill)["subject"]
    return subject


def from_source(content: Json) -> str:
    """Return the address in the content's From, which may be a template.

    Raises :class:`RenderFault` for content without a From: its template is gone.
    """
    sender = content.get("from")
    if not sender:
        raise RenderFault("[internal] there is no From")
    return sender if isinstance(sender, str) else sender["email"]


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


def _verbatim(text: str) -> Chunks:
    """Return a body that is no template; like rendered ones it is without NUL."""
    return literal(text.replace("\0", ""))


def _filled(parts: Json, fill: Fill) -> Json:
    with template_errors_as_faults():
        return fill_parts(parts, fill)


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
