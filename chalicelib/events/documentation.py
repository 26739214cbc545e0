"""Describe the event types: their wrappers, labels, descriptions, fields and samples.

Webhooks (spec 4.9) and the events search (spec 4.10) show these descriptions and samples, and
webhooks select events and build payloads by these types. An event is shown with the fields of its
type and no others: inside the service it may hold more, by which it is counted. Samples have the
form that events have inside the service (``events.model``), and are shown in the same way as real
events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from chalicelib.core import ids
from chalicelib.core.message_event import Event, EventFields
from chalicelib.events.fields import FIELDS, Field


@dataclass(frozen=True, slots=True)
class EventType:
    """One type; ``own`` are the sample values that differ from those in ``FIELDS``."""

    name: str
    label: str
    description: str
    fields: tuple[str, ...]
    own: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The key that holds the events of some types in a webhook's payload."""

    key: str
    label: str
    description: str
    types: tuple[EventType, ...]


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALWAYS = _set("type timestamp event_id customer_id subaccount_id")
_RECIPIENT = _set(
    "rcpt_to raw_rcpt_to rcpt_hash rcpt_meta rcpt_tags rcpt_type recipient_domain routing_domain "
    "mailbox_provider mailbox_provider_region"
)
_TRANSMISSION = _set(
    "transmission_id campaign_id template_id template_version ip_pool recv_method transactional "
    "scheduled_time open_tracking click_tracking initial_pixel amp_enabled"
)
_CONTENT = _set("message_id subject friendly_from sending_domain msg_from msg_size injection_time")
_TEST = _set("ab_test_id ab_test_version")
_GENERATED = _ALWAYS | _RECIPIENT | _TRANSMISSION | _CONTENT
#: Fields of a message that an attempt was made with; before that no address has been chosen
_MESSAGE = _GENERATED | {"sending_ip"}
_ATTEMPT = _set("delv_method ip_address num_retries")
_REFUSAL = _set("bounce_class error_code reason raw_reason")
_REQUEST = _set("delv_method ip_address user_agent user_agent_parsed geo_ip")
_LINK = _set("target_link_name target_link_url")
_UNGENERATED = (
    _ALWAYS
    | _RECIPIENT
    | _TRANSMISSION
    | _TEST
    | _set("friendly_from sending_domain error_code reason raw_reason rcpt_subs")
)
_RELAYED = _ALWAYS | _set(
    "relay_id origination webhook_id protocol rcpt_to raw_rcpt_to msg_from recv_method "
    "recipient_domain routing_domain"
)
_RECEIVED: Final = {
    "recv_method": "esmtp",
    "msg_from": "ann@inbox.test",
    "rcpt_to": "support+123@in.example.test",
    "raw_rcpt_to": "Support+123@in.example.test",
    "recipient_domain": "in.example.test",
    "routing_domain": "in.example.test",
}
"""Samples of what was received: the recipient is at an inbound domain."""
_INGEST = _ALWAYS | _set(
    "batch_id number_succeeded number_failed number_duplicates retryable expiration_timestamp"
)
_SMS = _set(
    "sms_coding sms_dst sms_dst_npi sms_dst_ton sms_src sms_src_npi sms_src_ton delv_method "
    "ip_address reason raw_reason routing_domain sending_ip"
)


def _type(name: str, label: str, description: str, fields: frozenset[str], **own: Any) -> EventType:
    return EventType(name, label, description, tuple(sorted(fields)), own)


def _refused(reason: str) -> dict[str, str]:
    return {"error_code": reason[:3], "reason": reason, "raw_reason": reason}


WRAPPERS: Final = (
    Wrapper(
        "message_event",
        "Message Event",
        "What happens to a message on its way to the recipient.",
        (
            _type(
                "injection",
                "Injection",
                "Message is received by or injected into the service.",
                _GENERATED | _TEST,
            ),
            _type(
                "delivery",
                "Delivery",
                "Remote MTA acknowledged receipt of a message.",
                _MESSAGE | _ATTEMPT | _set("queue_time outbound_tls"),
            ),
            _type(
                "delay",
                "Delay",
                "Remote MTA has temporarily rejected a message.",
                _MESSAGE | _TEST | _ATTEMPT | _REFUSAL | _set("queue_time outbound_tls"),
                bounce_class="22",
                **_refused("452 4.2.2 Mailbox full"),
            ),
            _type(
                "bounce",
                "Bounce",
                "Remote MTA has permanently rejected a message.",
                _MESSAGE | _ATTEMPT | _REFUSAL | _set("device_token"),
            ),
            _type(
                "out_of_band",
                "Out of Band",
                "Remote MTA initially reported acceptance of a message, but it has since "
                "asynchronously reported that the message was not delivered.",
                (_MESSAGE | _TEST | _REFUSAL) - {"rcpt_type"}
                | _set("delv_method num_retries queue_time"),
            ),
            _type(
                "spam_complaint",
                "Spam Complaint",
                "Message was classified as spam by the recipient.",
                _MESSAGE | _TEST | _set("delv_method fbtype report_by report_to queue_time"),
            ),
            _type(
                "policy_rejection",
                "Policy Rejection",
                "Due to policy, the service rejected a message or failed to generate a message.",
                (_GENERATED | _TEST | _REFUSAL | {"remote_addr"})
                - _set("subject msg_size scheduled_time"),
                bounce_class="25",
                **_refused("550 5.7.1 Unconfigured sending domain"),
            ),
            _type(
                "sms_status",
                "SMS Status",
                "SMPP/SMS message produced a status log output.",
                (_ALWAYS | _SMS) - {"event_id"},
                delv_method="smpp",
                **_refused("DELIVRD"),
            ),
        ),
    ),
    Wrapper(
        "track_event",
        "Engagement Event",
        "What the recipient does with a message.",
        (
            _type(
                "open",
                "Open",
                "The pixel at the end of a message was fetched.",
                _MESSAGE | _TEST | _REQUEST,
            ),
            _type(
                "initial_open",
                "Initial Open",
                "The pixel at the beginning of a message was fetched.",
                _MESSAGE | _TEST | _REQUEST,
            ),
            _type(
                "click",
                "Click",
                "A tracked link of a message was followed.",
                _MESSAGE | _TEST | _REQUEST | _LINK,
            ),
            _type(
                "amp_open",
                "AMP Open",
                "The pixel at the end of a message's AMP part was fetched.",
                _MESSAGE | _TEST | _REQUEST,
                amp_enabled=True,
            ),
            _type(
                "amp_initial_open",
                "AMP Initial Open",
                "The pixel at the beginning of a message's AMP part was fetched.",
                _MESSAGE | _TEST | _REQUEST,
                amp_enabled=True,
            ),
            _type(
                "amp_click",
                "AMP Click",
                "A tracked link of a message's AMP part was followed.",
                _MESSAGE | _TEST | _REQUEST | _LINK,
                amp_enabled=True,
            ),
        ),
    ),
    Wrapper(
        "gen_event",
        "Generation Event",
        "Messages that could not be generated.",
        (
            _type(
                "generation_failure",
                "Generation Failure",
                "Message generation failed for an intended recipient.",
                _UNGENERATED,
                **_refused("554 5.3.3 [internal] Error while rendering part html: line 3"),
            ),
            _type(
                "generation_rejection",
                "Generation Rejection",
                "The service rejected message generation due to policy.",
                _UNGENERATED | _set("bounce_class subject"),
                bounce_class="25",
                **_refused("550 5.7.1 [internal] Invalid domain"),
            ),
        ),
    ),
    Wrapper(
        "unsubscribe_event",
        "Unsubscribe Event",
        "Recipients who unsubscribe.",
        (
            _type(
                "list_unsubscribe",
                "List Unsubscribe",
                "The recipient unsubscribed with the button that mail clients show.",
                _MESSAGE | _TEST | _set("mailfrom delv_method ip_address"),
            ),
            _type(
                "link_unsubscribe",
                "Link Unsubscribe",
                "The recipient clicked an unsubscribe link in the message.",
                _MESSAGE | _TEST | _LINK | _set("mailfrom delv_method ip_address user_agent"),
            ),
        ),
    ),
    Wrapper(
        "relay_event",
        "Relay Event",
        "Messages that are received at inbound domains, and their posts to relay webhooks.",
        (
            _type(
                "relay_injection",
                "Relay Injection",
                "A message is received at an inbound domain. If it answers a message of this "
                "service, the event has that message's ids.",
                _RELAYED
                | _set("injection_time msg_size subject friendly_from message_id transmission_id"),
                friendly_from="ann@inbox.test",
                **_RECEIVED,
            ),
            _type(
                "relay_rejection",
                "Relay Rejection",
                "The service rejected a message to an inbound domain.",
                _RELAYED | _set("remote_addr error_code reason raw_reason"),
                **_RECEIVED,
                **_refused("552 5.3.4 Message too big"),
            ),
            _type(
                "relay_delivery",
                "Relay Delivery",
                "The relay webhook accepted a message.",
                _RELAYED | _set("injection_time msg_size num_retries queue_time delv_method"),
                delv_method="http",
                **_RECEIVED,
            ),
            _type(
                "relay_tempfail",
                "Relay Temporary Failure",
                "The relay webhook did not accept a message. It is tried again.",
                _RELAYED | _set("error_code reason raw_reason num_retries queue_time"),
                **_RECEIVED,
                **_refused("503 Service Unavailable"),
            ),
            _type(
                "relay_permfail",
                "Relay Permanent Failure",
                "The relay webhook did not accept a message, or it could not be forwarded. It is "
                "not tried again.",
                _RELAYED | _set("error_code reason raw_reason num_retries queue_time"),
                **_RECEIVED,
                **_refused("503 Service Unavailable"),
            ),
        ),
    ),
    Wrapper(
        "ab_test_event",
        "A/B Test Event",
        "A/B tests that ended.",
        (
            _type(
                "ab_test_completed",
                "A/B Test Completed",
                "An A/B test was completed.",
                _ALWAYS | {"ab_test"},
            ),
            _type(
                "ab_test_cancelled",
                "A/B Test Cancelled",
                "An A/B test was cancelled.",
                _ALWAYS | {"ab_test"},
                ab_test={
                    name: value
                    for name, value in FIELDS["ab_test"].sample.items()
                    if name != "winning_template_id"
                },
            ),
        ),
    ),
    Wrapper(
        "ingest_event",
        "Ingest Event",
        "Batches of ingested events.",
        (
            _type(
                "success",
                "Ingest Success",
                "All events of a batch were ingested.",
                _INGEST,
            ),
            _type(
                "error",
                "Ingest Error",
                "Some or all events of a batch could not be ingested.",
                _INGEST | {"error_type", "href"},
                number_succeeded=470,
                number_failed=10,
            ),
        ),
    ),
)

TYPES: Final = {each.name: each for wrapper in WRAPPERS for each in wrapper.types}
_FIELD_NAMES: Final = {name: frozenset(each.fields) for name, each in TYPES.items()}
#: Types that the service has no events of: it sends no SMS
UNPRODUCED: Final = frozenset({"sms_status"})
_WRAPPER_OF: Final = {each.name: wrapper.key for wrapper in WRAPPERS for each in wrapper.types}

#: The wrappers of events about mail that is sent (spec 4.10); others may upload such events
_SENDING = ("message_event", "track_event", "gen_event", "unsubscribe_event")
INGESTED: Final = tuple(name for name, key in _WRAPPER_OF.items() if key in _SENDING)
RELAYED: Final = tuple(name for name, key in _WRAPPER_OF.items() if key == "relay_event")
#: The types that the search of message events finds
SEARCHED: Final = (*INGESTED, *RELAYED)
SEARCHED_TYPES: Final = frozenset(SEARCHED)


#: Other names of types (spec 6 has one)
_ALIASES: Final = {"rejection": "policy_rejection"}


def type_of(name: str) -> str | None:
    """Return the type of a name, which may be in any case; ``None`` if there is none."""
    kind = name.lower() if name.isascii() else ""
    kind = _ALIASES.get(kind, kind)
    return kind if kind in TYPES else None


def wrapper_of(kind: str) -> str:
    """Return the key that holds events of type ``kind`` in a webhook's payload (spec 6.1).

    Raises ``KeyError`` for a type that does not exist.
    """
    return _WRAPPER_OF[kind]


def documented_fields(kind: str, fields: EventFields) -> EventFields:
    """Return those fields of an event that are documented for its type and have a value."""
    names = _FIELD_NAMES[kind]
    documented = {n: value for n, value in fields.items() if n in names and value is not None}
    return cast(EventFields, documented)


def described(kind: str) -> Iterator[tuple[str, Field]]:
    """Yield the fields of type ``kind``, each with its description and its sample value."""
    event_type = TYPES[kind]
    value: Mapping[str, Any] = sample(kind)
    for name in event_type.fields:
        yield name, replace(FIELDS[name], sample=value[name])


def sample(kind: str) -> Event:
    """Return an event of type ``kind`` as it is inside the service, always the same one."""
    event_type = TYPES[kind]
    own = {"type": kind, "event_id": ids.event_id("sample", kind), **event_type.own}
    fields = {name: own.get(name, FIELDS[name].sample) for name in event_type.fields}
    return cast(Event, fields)
