"""Render content for one recipient: fill in its parts, and apply the ``override`` (spec 2.1, 2.2).

The template language compiles each part once (it caches by content) and renders it per recipient.
Nothing is substituted in an override, and what it replaces is not rendered. An overriding From
without a name keeps the content's name, if that can be rendered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chalicelib.core.addresses import Mailbox, read_mailbox
from chalicelib.core.json_types import Json
from chalicelib.generation.compose import Rendered
from chalicelib.generation.faults import RenderFault, template_errors_as_faults
from chalicelib.generation.substitution import Filling
from chalicelib.mail_format.from_field import display_name
from chalicelib.mail_format.header_rules import written_value
from chalicelib.template_language import AMP_HTML, HTML, TEXT, TemplateError
from chalicelib.template_language.chunks import Chunks, literal
from chalicelib.templates.parts import Fill, fill_parts

_HEADER_PARTS = ("subject", "reply_to", "headers")
_BODIES = {"text": TEXT, "html": HTML, "amp_html": AMP_HTML}


def render(
    content: Json, filling: Filling, override: Json | None = None, *, verbatim_bodies: bool = False
) -> Rendered:
    """Return ``content`` with its parts filled in and ``override`` applied.

    Raises :class:`RenderFault`. With ``verbatim_bodies`` only From, subject, Reply-To and headers
    are filled in (spec 2.1, ``perform_substitutions``).
    """
    override = override or {}
    bodies = {name: part for name, part in _BODIES.items() if content.get(name)}
    sender = _sender(content, filling.text, override)
    with template_errors_as_faults():
        fields = fill_parts(_own_headers(content, override), filling.text)
        texts: Json = {
            name: _verbatim(content[name])
            if verbatim_bodies
            else filling.chunks(content[name], part)
            for name, part in bodies.items()
        }
    return Rendered(
        sender=sender,
        subject=fields["subject"],
        reply_to=written_value("Reply-To", override.get("reply_to") or fields.get("reply_to", "")),
        headers=_written_headers(fields.get("headers", {}), override),
        **texts,
    )


def render_sender(content: Json, fill: Fill, override: Json) -> Mailbox:
    """Return the From alone, without its name; raises :class:`RenderFault`.

    It is for events about messages that cannot be rendered as a whole.
    """
    if override.get("from"):
        return overriding_sender(override["from"], str)
    return _mailbox(_filled({"from": from_source(content)}, fill)["from"])


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


def overriding_sender(value: str | Json, name: Callable[[], str]) -> Mailbox:
    """Return the From of ``override.from``; ``name`` returns that of the From that it replaces."""
    text = value if isinstance(value, str) else value["email"]
    mailbox = read_mailbox(text)
    if mailbox is None:
        raise RenderFault(f"[internal] override.from is an invalid address: {text[:300]!r}")
    own_name = mailbox.name if isinstance(value, str) else value.get("name") or mailbox.name
    return Mailbox(mailbox.email, own_name or name())


def list_id_header(list_id: str) -> tuple[str, str]:
    """Return the name and value of the List-Id header (RFC 2919)."""
    return "List-Id", f"<{list_id}>"


def _verbatim(text: str) -> Chunks:
    """Return a body that is no template; like rendered ones it is without NUL."""
    return literal(text.replace("\0", ""))


def _filled(parts: Json, fill: Fill) -> Json:
    with template_errors_as_faults():
        return fill_parts(parts, fill)


def _sender(content: Json, fill: Fill, override: Json) -> Mailbox:
    if override.get("from"):
        return overriding_sender(override["from"], lambda: _own_name(content, fill))
    return _mailbox(_filled({"from": content["from"]}, fill)["from"])


def _own_name(content: Json, fill: Fill) -> str:
    """Return the name in the content's From, whose address may be anything; empty if it fails."""
    sender = content.get("from", "")
    name = "" if isinstance(sender, str) else sender.get("name")
    try:
        text = fill_parts({"from": name or from_source(content)}, fill)["from"]
    except (TemplateError, RenderFault):
        return ""
    mailbox = read_mailbox(text)
    return text if name else mailbox.name if mailbox else display_name([text])


def _own_headers(content: Json, override: Json) -> Json:
    """Return the header parts of the content that the override leaves as they are, but From."""
    parts = {n: content[n] for n in _HEADER_PARTS if content.get(n) and not override.get(n)}
    if override.get("list_id") and "headers" in parts:
        parts["headers"] = {n: v for n, v in parts["headers"].items() if n.lower() != "list-id"}
    return parts


def _written_headers(headers: Mapping[str, str], override: Json) -> dict[str, str]:
    """Return the headers that say something, and the overriding one."""
    values = {name: written_value(name, value) for name, value in headers.items()}
    own = [list_id_header(override["list_id"])] if override.get("list_id") else []
    return {name: value for name, value in values.items() if value} | dict(own)


def _mailbox(value: str | Mapping[str, str]) -> Mailbox:
    text = value if isinstance(value, str) else value["email"]
    mailbox = read_mailbox(text)
    if mailbox is None:
        raise RenderFault(f"[internal] From evaluates to an invalid address: {text[:300]!r}")
    if isinstance(value, str) or not value.get("name"):
        return mailbox
    return Mailbox(mailbox.email, value["name"])
