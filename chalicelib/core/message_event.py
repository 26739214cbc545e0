"""Give message events (spec 2.11) their types: flat dictionaries, without what does not apply.

They travel as they are: through queues, into blocks of stored events and into webhooks' batches.
``timestamp`` and ``expiration_timestamp`` are whole milliseconds; all other values have their
public form, in which most numbers are text. ``events.fields`` describes each field, and
``events.documentation`` says which of them an event of each type shows. Only the service makes and
reads those of :class:`_Internal`; nobody is shown them.
"""

# Real types, not those of `core.typed_dicts`: a test compares them with what is documented. Without
# the import of annotations, which would compile each of them at a cold start

from typing import NotRequired, TypedDict

from chalicelib.core.json_types import Json


class Observed(TypedDict):
    """What completing an event needs (``tracking.engagement``).

    ``unit`` is the index of the first recipient of its message's work unit; ``prefetch`` tells
    whether the request of an open or a click declared itself a prefetch.
    """

    unit: int
    prefetch: NotRequired[bool]


class _Internal(TypedDict, total=False):
    """Fields that are shown in no event.

    ``rcpt_index`` tells recipients without a message apart, who may have the same address. Events
    with ``counts_in_usage`` count in the account's usage. ``list_id`` is the mailing list that an
    unsubscription leaves.
    """

    rcpt_index: int
    counts_in_usage: bool
    observed: Observed
    list_id: str


class _Recipient(TypedDict, total=False):
    rcpt_to: str
    raw_rcpt_to: str
    rcpt_hash: str
    rcpt_meta: Json
    rcpt_subs: Json
    rcpt_tags: list[str]
    rcpt_type: str
    recipient_domain: str
    routing_domain: str
    mailbox_provider: str
    mailbox_provider_region: str


class _Transmission(TypedDict, total=False):
    customer_id: str
    subaccount_id: str
    transmission_id: str
    campaign_id: str
    template_id: str
    template_version: str
    ab_test_id: str
    ab_test_version: str
    recv_method: str
    transactional: str
    scheduled_time: str
    open_tracking: bool
    click_tracking: bool
    initial_pixel: bool
    amp_enabled: bool


class _Message(TypedDict, total=False):
    message_id: str
    subject: str
    friendly_from: str
    sending_domain: str
    msg_from: str
    msg_size: str
    injection_time: str


class RouteFields(TypedDict, total=False):
    """How a message left; ``sending_ip`` only where it is known."""

    ip_pool: str
    sending_ip: str


class _Attempt(TypedDict, total=False):
    """An attempt to deliver the message, or the refusal of it."""

    delv_method: str
    ip_address: str
    num_retries: str
    queue_time: str
    outbound_tls: str
    bounce_class: str
    error_code: str
    reason: str
    raw_reason: str
    remote_addr: str
    device_token: str


class _Reaction(TypedDict, total=False):
    """A recipient's reaction, or that of the recipient's provider."""

    user_agent: str
    user_agent_parsed: Json
    geo_ip: Json
    target_link_name: str
    target_link_url: str
    mailfrom: str
    fbtype: str
    report_by: str
    report_to: str


class _Ingest(TypedDict, total=False):
    """The result of a batch of ingested events."""

    batch_id: str
    number_succeeded: int
    number_failed: int
    number_duplicates: int
    retryable: bool
    error_type: str
    expiration_timestamp: int
    href: str


class _Relayed(TypedDict, total=False):
    """How a message came to an inbound domain, and the relay webhook that gets it."""

    relay_id: str
    origination: str
    webhook_id: str
    protocol: str


class _Unmade(TypedDict, total=False):
    """Fields of events that this service does not make; it shows samples, and ingests some."""

    sms_coding: str
    sms_dst: str
    sms_dst_npi: str
    sms_dst_ton: str
    sms_src: str
    sms_src_npi: str
    sms_src_ton: str


class EventFields(
    _Recipient,
    _Transmission,
    _Message,
    RouteFields,
    _Attempt,
    _Reaction,
    _Ingest,
    _Relayed,
    _Unmade,
    _Internal,
    total=False,
):
    """Some fields of an event, before it is made.

    For example those that all events of a message share, or the context that is stored of it.
    """

    ab_test: Json


class Event(EventFields):
    """An event: what happened, and when.

    ``event_id`` derives from what happened, so that making an event again makes the same event.
    """

    type: str
    timestamp: int
    event_id: str


class Refusal(TypedDict, total=False):
    """What the event that every recipient of a transmission gets instead of a message says.

    It is empty for a transmission that was not refused; ``bounce_class`` is that of a rejection.
    """

    type: str
    error_code: str
    reason: str
    raw_reason: str
    bounce_class: str
