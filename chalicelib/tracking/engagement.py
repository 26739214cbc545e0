"""Make engagement events from a token alone, and complete them when they are recorded.

An endpoint must not read anything, so it knows only its token and the request. Its event goes to
the queue with the field :data:`OBSERVED`, which holds what completing it needs. Recording calls
:func:`complete`: it adds the message context, the address that the message left by, the parsed user
agent and the location. If the message context has expired, the event stays as it is.

A complaint or a late bounce has the field if it came before anything tells how its message left.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Final

from chalicelib.core import clock, ids
from chalicelib.core.message_event import Event, EventFields, RouteFields
from chalicelib.core.request import Request
from chalicelib.events.model import make_event, recipient_fields
from chalicelib.tracking import geo_ip, links, user_agents
from chalicelib.tracking.model import Link, Message
from chalicelib.tracking.store.message_context import MessageRef

#: The field of an event that is not complete yet
OBSERVED: Final = "observed"

OPENS: Final = ("open", "initial_open", "amp_open", "amp_initial_open")
CLICKS: Final = ("click", "amp_click")
UNSUBSCRIPTIONS: Final = ("list_unsubscribe", "link_unsubscribe")

_PREFETCH_HEADERS = ("sec-purpose", "purpose", "x-purpose", "x-moz")


def observe(kind: str, request: Request, message: Message, link: Link | None = None) -> Event:
    """Return the incomplete event that a request reports about a message.

    Two requests make two events, even if they are equal; but a message has one unsubscription of
    each type, and recording counts the first (``recording.single_events``).
    """
    user_agent = request.headers.get("user-agent", "")[: user_agents.LONGEST]
    fields: EventFields = {"delv_method": "esmtp", "ip_address": request.source_ip}
    if kind != "list_unsubscribe":
        fields["user_agent"] = user_agent
    if kind not in OPENS + CLICKS:
        fields["mailfrom"] = message.recipient
    if link is not None:
        fields["target_link_url"] = link.target
        fields["target_link_name"] = link.name or links.UNNAMED
    fields[OBSERVED] = {"unit": message.first_index, "prefetch": _is_prefetch(request.headers)}
    nonce = "" if kind in UNSUBSCRIPTIONS else secrets.token_hex(8)
    return make_event(kind, _token_fields(message), clock.now_ms(), nonce=nonce, **fields)


def message_refs(events: Iterable[Event]) -> list[MessageRef]:
    """Return the messages whose contexts complete these events."""
    return [(e["message_id"], e[OBSERVED]["unit"]) for e in events if OBSERVED in e]


def complete(event: Event, context: EventFields, route: RouteFields) -> Event:
    """Return a complete event: ``context`` holds the stored fields of its message.

    ``route`` holds those that tell how the message left.
    """
    observed = event[OBSERVED]
    fields: Event = {"rcpt_meta": {}, "rcpt_tags": [], **context, **event, **route}
    del fields[OBSERVED]
    if event["type"] in OPENS + CLICKS:
        fields["user_agent_parsed"] = user_agents.parse(
            event["user_agent"], prefetch=observed["prefetch"]
        )
        location = geo_ip.locate(event["ip_address"])
        if location:
            fields["geo_ip"] = location
    return fields


def _token_fields(message: Message) -> EventFields:
    transmission_id, _ = ids.transmission_of(message.message_id)
    about = recipient_fields(message.recipient, metadata={}, tags=[])
    del about["rcpt_meta"], about["rcpt_tags"]  # the token does not hold them
    fields: EventFields = {
        "customer_id": str(message.account_id),
        "transmission_id": transmission_id,
        "message_id": message.message_id,
        **about,
    }
    if message.subaccount_id:
        fields["subaccount_id"] = str(message.subaccount_id)
    return fields


def _is_prefetch(headers: Mapping[str, str]) -> bool:
    return any("prefetch" in headers.get(name, "").lower() for name in _PREFETCH_HEADERS)
