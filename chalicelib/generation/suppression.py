"""Hold back messages to suppressed recipients (spec 2.9), looked up for a whole chunk.

A suppressed recipient was accepted and is counted as accepted: there is an injection event, and at
once a bounce event whose reason is the customer's policy.

The mailing list of a message is the one in the List-Id header of the finished message, whether the
sender wrote the header, a template filled it in or ``override`` replaced it. A recipient who
unsubscribes leaves that list, so it is stored with the message's context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chalicelib.core.dynamo import Key
from chalicelib.core.message_event import Event, EventFields
from chalicelib.core.reading import Read
from chalicelib.events.model import make_event
from chalicelib.mail_format.header_section import header_fields, split_head
from chalicelib.recipient_lists.stored_form import StoredRecipient
from chalicelib.suppression.model import COMPLIANCE, SuppressionHold, is_list_id
from chalicelib.suppression.store import lookup_items
from chalicelib.transmissions.model import Transmission

_REASON = "554 5.7.1 [internal] recipient address suppressed due to customer policy"


def keys_of(transmission: Transmission, recipients: Sequence[StoredRecipient]) -> list[Key]:
    """Return the keys that :func:`holds_of` reads."""
    if transmission.refusal:
        return []
    return lookup_items.blocking_keys(
        transmission.account_id,
        transmission.subaccount_id,
        [recipient["email"] for recipient in recipients],
        transactional=transmission.options["transactional"],
    )


def holds_of(
    transmission: Transmission, recipients: Sequence[StoredRecipient], read: Read
) -> Mapping[str, SuppressionHold]:
    """Return what may hold back messages to these recipients, by address.

    ``skip_suppression`` ignores everything but entries of compliance.
    """
    if transmission.refusal:
        return {}
    holds = lookup_items.blocking(
        transmission.account_id,
        transmission.subaccount_id,
        [recipient["email"] for recipient in recipients],
        transactional=transmission.options["transactional"],
        read=read,
    )
    if not transmission.options.get("skip_suppression"):
        return holds
    return {email: hold for email, hold in holds.items() if hold.source == COMPLIANCE}


def holds_back(hold: SuppressionHold | None, message: bytes) -> bool:
    """Tell whether a finished message may not leave."""
    if hold is None:
        return False
    return bool(hold.source) or any(map(hold.holds_back, _list_ids(message)))


def list_of(message: bytes) -> str:
    """Return the mailing list that a finished message's recipient may leave, empty if none.

    A text in the List-Id header that is no list id names none: no entry could hold its mail back.
    """
    return next(filter(is_list_id, _list_ids(message)), "")


def bounce(fields: EventFields, injected_ms: int) -> Event:
    """Return the bounce of a suppressed recipient's message."""
    return make_event(
        "bounce",
        fields,
        injected_ms,
        attempt=1,
        bounce_class="25",
        error_code="554",
        reason=_REASON,
        raw_reason=_REASON,
        num_retries="0",
    )


def _list_ids(message: bytes) -> list[str]:
    """Return the ids in the List-Id headers of a message; a well-formed one has one at most."""
    end, _ = split_head(message, 0, len(message))
    if b"list-id" not in message[:end].lower():  # most messages: reading all fields takes longer
        return []
    return [
        _list_id(raw.partition(b":")[2].decode("utf-8", "replace"))
        for name, raw in header_fields(message, 0, end)
        if name == "list-id"
    ]


def _list_id(value: str) -> str:
    """Return the id in a List-Id value: the text in angle brackets (RFC 2919)."""
    return value.rpartition("<")[2].partition(">")[0].strip() or value.strip()
