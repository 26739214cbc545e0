"""Decide what becomes of a message for one recipient, and make its record.

If the domain was deleted or given to somebody else after the message got its 250, the message is
stored for the owner that the domain had then.
"""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.core.addresses import LONGEST, spelling
from chalicelib.core.json_types import Json
from chalicelib.inbound_domains import lookup
from chalicelib.inbound_domains.model import Action, InboundDomain, MailRoute
from chalicelib.received_mail.inbound_queue import InboundHead, InboundRecipient, relay_id
from chalicelib.received_mail.model import InReplyTo, ParsedMessage, ReceivedMessage

#: Characters of a subject in records and events, which have no room for what a header may hold
LONGEST_SUBJECT = 2_000

_STORED = MailRoute("*", Action.STORE)


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read in a raw message; ``content`` is the message compressed, or empty."""

    parsed: ParsedMessage
    verdicts: Json
    content: bytes = b""


def received_message(
    head: InboundHead, recipient: InboundRecipient, reading: Reading, in_reply_to: InReplyTo | None
) -> ReceivedMessage:
    """Return the record of a message, as a recipient got it and as the domain's routes say."""
    local_part = spelling(recipient["address"]).rpartition("@")[0]
    domain = _domain_of(recipient)
    route = _route(domain, local_part) if domain else _STORED
    has_webhook = domain is not None and route.action is Action.WEBHOOK
    parsed = reading.parsed
    return ReceivedMessage(
        id=relay_id(head["id"], recipient["index"]),
        account_id=recipient["account_id"],
        subaccount_id=recipient["subaccount_id"],
        domain=recipient["domain"],
        received_ms=head["received_ms"],
        rcpt_to=recipient["address"],
        mail_from=head["mail_from"],
        peer_ip=head["peer_ip"],
        helo=head["helo"],
        tls=head["tls"],
        size=head["size"],
        action=route.action.value,
        webhook_id=domain.relay_webhook_id if domain and has_webhook else "",
        forward_to=route.forward_to,
        tag=recipient["address"].rpartition("@")[0].partition("+")[2].rstrip('"'),
        subject=parsed.subject[:LONGEST_SUBJECT],
        friendly_from=parsed.friendly_from[:LONGEST],
        verdicts=reading.verdicts,
        in_reply_to=in_reply_to,
        attachments=len(parsed.attachments),
        is_automatic=parsed.is_automatic,
        content=reading.content,
        blob=head.get("blob", ""),
    )


def _domain_of(recipient: InboundRecipient) -> InboundDomain | None:
    """Return the domain if it is still that of the same owner."""
    domain = lookup.registered(recipient["domain"])
    owner = recipient["account_id"], recipient["subaccount_id"]
    return domain if domain and (domain.account_id, domain.subaccount_id) == owner else None


def _route(domain: InboundDomain, local_part: str) -> MailRoute:
    """Return the route of a local part; one with a tag also has those of what stands before it."""
    name = local_part.partition("+")[0]
    is_for_tag = any(each.matches(local_part) for each in domain.routes)
    return domain.route_for(local_part if is_for_tag else name)
