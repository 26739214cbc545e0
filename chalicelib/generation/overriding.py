"""A transmission's ``override`` in force (spec 2.1): other From, Reply-To and List-Id.

Nothing is substituted in it, and the name of the From is kept unless another is given.
"""

from __future__ import annotations

from dataclasses import replace

from chalicelib.core.addresses import Mailbox, read_mailbox
from chalicelib.generation.compose import Rendered
from chalicelib.generation.prebuilt import GivenHeader
from chalicelib.generation.render import RenderFault
from chalicelib.mail_format import rfc822
from chalicelib.mail_format.address_list import address_list_field
from chalicelib.mail_format.headers import Address, encode_addresses, encode_header
from chalicelib.mail_format.rfc822 import Field
from chalicelib.transmissions.list_id import header_of
from chalicelib.transmissions.model import Json


def overridden(content: Rendered, override: Json) -> Rendered:
    """Return rendered content with ``override`` in force; raises :class:`RenderFault`."""
    if not override:
        return content
    sender = content.sender
    if override.get("from"):
        sender = _overriding_sender(override["from"], sender.name)
    headers = dict(content.headers)
    if override.get("list_id"):
        name, value = header_of(override["list_id"])
        headers = {k: v for k, v in headers.items() if k.lower() != name.lower()} | {name: value}
    reply_to = override.get("reply_to") or content.reply_to
    return replace(content, sender=sender, reply_to=reply_to, headers=headers)


def overridden_header(header: GivenHeader, override: Json) -> GivenHeader:
    """Return the header of a pre-built message with ``override`` in force."""
    fields: list[Field] = header.fields
    if override.get("from"):
        sender = _overriding_sender(override["from"], _own_name(header))
        address = Address(sender.name or None, sender.email)
        fields = rfc822.replace(fields, encode_addresses("From", [address]))
    if override.get("reply_to"):
        fields = rfc822.replace(fields, address_list_field("Reply-To", override["reply_to"]))
    if override.get("list_id"):
        fields = rfc822.replace(fields, encode_header(*header_of(override["list_id"])))
    return header if fields is header.fields else GivenHeader(fields)


def _own_name(header: GivenHeader) -> str:
    """Return the name in a message's own From, which need not be a good one."""
    try:
        return header.sender.name
    except ValueError:
        return ""


def _overriding_sender(given: str | Json, name: str) -> Mailbox:
    text = given if isinstance(given, str) else given["email"]
    mailbox = read_mailbox(text)
    if mailbox is None:
        raise RenderFault(f"[internal] override.from is an invalid address: {text[:300]!r}")
    own_name = mailbox.name if isinstance(given, str) else given.get("name") or mailbox.name
    return Mailbox(mailbox.email, own_name or name)
