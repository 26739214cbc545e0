"""Events of engagement: made from a token alone, and completed when they are recorded.

An endpoint knows what its token and the request tell, and must not read anything. So its event goes
to the queue with a note of what is still to be done (:data:`OBSERVED`), and whoever records events
calls :func:`complete` on each batch: it adds what is kept of the message (``tracking.facts``), how
it left, the parsed user agent and the place. An event of a message whose time there is over stays
as it is.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from chalicelib.core import clock, ids
from chalicelib.core.reading import Read
from chalicelib.core.request import Request
from chalicelib.events.model import Event, make, recipient_fields
from chalicelib.tracking import geo_ip, links, message_context, user_agents
from chalicelib.tracking.message_context import Place
from chalicelib.tracking.model import Link, Message

#: The field of an event that is still to be completed
OBSERVED: Final = "observed"

OPENS: Final = ("open", "initial_open", "amp_open", "amp_initial_open")
CLICKS: Final = ("click", "amp_click")

_PREFETCH_HEADERS = ("sec-purpose", "purpose", "x-purpose", "x-moz")


def observe(kind: str, request: Request, message: Message, link: Link | None = None) -> Event:
    """Return the event, still to be completed, that a request reports of a message.

    Two requests make two events, whatever they have in common.
    """
    user_agent = request.headers.get("user-agent", "")[: user_agents.LONGEST]
    fields: Event = {"delv_method": "esmtp", "ip_address": request.source_ip}
    if kind != "list_unsubscribe":
        fields["user_agent"] = user_agent
    if kind not in OPENS + CLICKS:
        fields["mailfrom"] = message.recipient
    if link is not None:
        fields["target_link_url"] = link.target
        fields["target_link_name"] = link.name or links.UNNAMED
    fields[OBSERVED] = {"unit": message.first_index, "prefetch": _is_prefetch(request.headers)}
    return make(kind, _known_fields(message), clock.now_ms(), nonce=secrets.token_hex(8), **fields)


def places_of(events: Iterable[Event]) -> list[Place]:
    """Return the places whose facts complete these events."""
    return [(e["message_id"], e[OBSERVED]["unit"]) for e in events if OBSERVED in e]


def complete(
    events: Sequence[Event],
    read: Read = message_context.read_now,
    route_of: Callable[[Event], Mapping[str, str]] = lambda event: {},
) -> list[Event]:
    """Return events with those that engagement reported completed, in one read for all of them.

    ``route_of`` tells the fields of how the message of an event left.
    """
    places = places_of(events)
    known = message_context.of_messages(places, read) if places else {}
    return [
        _completed(event, {**known.get(event["message_id"], {}), **route_of(event)})
        if OBSERVED in event
        else event
        for event in events
    ]


def _known_fields(message: Message) -> Event:
    transmission_id, _ = ids.transmission_of(message.message_id)
    about = recipient_fields(message.recipient, metadata={}, tags=[])
    del about["rcpt_meta"], about["rcpt_tags"]  # the token does not hold them
    owner = {"subaccount_id": str(message.subaccount_id)} if message.subaccount_id else {}
    return {
        "customer_id": str(message.account_id),
        **owner,
        "transmission_id": transmission_id,
        "message_id": message.message_id,
        **about,
    }


def _is_prefetch(headers: Mapping[str, str]) -> bool:
    return any("prefetch" in headers.get(name, "").lower() for name in _PREFETCH_HEADERS)


def _completed(event: Event, kept: Mapping[str, Any]) -> Event:
    observed = event[OBSERVED]
    whole = {"rcpt_meta": {}, "rcpt_tags": [], **kept, **event}
    del whole[OBSERVED]
    if event["type"] in OPENS + CLICKS:
        whole["user_agent_parsed"] = user_agents.parse(
            event["user_agent"], prefetch=observed["prefetch"]
        )
        place = geo_ip.locate(event["ip_address"])
        if place:
            whole["geo_ip"] = place
    return whole
