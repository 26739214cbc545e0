"""Say which sends and cancellations get a line in the audit log, and what it shows.

A line goes into the transaction of its change. A single send by API key is one plain write, and
stays so unless ``AUDIT_SENDS`` is ``all``: the line would make it a transaction, which takes twice
the write units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chalicelib.core import audit, clock
from chalicelib.core.dynamo import Write
from chalicelib.core.json_types import Json
from chalicelib.core.settings import settings
from chalicelib.transmissions.model import CANCELLED, SUBMITTED, Transmission
from chalicelib.transmissions.recipients import Recipients

#: Cancelled transmissions of one request that each get a line of their own
MOST_LINES: Final = 20


def send_line(transmission: Transmission, recipients: Recipients) -> list[Write]:
    """Return the action that writes the line of a send, if it gets one: one line for all of it."""
    author = audit.author()
    is_single = not (
        transmission.start_ms
        or recipients.count > 1
        or recipients.list_ref
        or "ab_test_id" in transmission.requested_content
    )
    if author is None or (
        is_single and author.actor.type == "key" and settings().audit_sends != "all"
    ):
        return []
    list_id = (recipients.list_ref or {}).get("id")
    after = _shown_fields(transmission) | {"recipients": recipients.count, "list_id": list_id}
    return audit.line(transmission.id, None, after)


def cancel_line(transmission: Transmission) -> list[Write]:
    """Return the action that writes the line of one cancelled transmission."""
    before, after = {"state": SUBMITTED}, {"state": CANCELLED}
    owner = transmission.subaccount_id
    return audit.line(transmission.id, before, after, subaccount_id=owner)


def campaign_line(campaign_id: str, ids: Sequence[str]) -> list[Write]:
    """Return the action that writes one line about many cancelled transmissions of a campaign."""
    after = {
        "campaign_id": campaign_id,
        "state": CANCELLED,
        "transmissions": len(ids),
        "first": ids[:MOST_LINES],
    }
    return audit.line("", None, after)


def _shown_fields(transmission: Transmission) -> Json:
    content = transmission.requested_content
    start_ms = transmission.start_ms
    return {
        "campaign_id": transmission.campaign_id or None,
        "description": transmission.description or None,
        "template_id": transmission.template_id or content.get("template_id"),
        "ab_test_id": content.get("ab_test_id"),
        "subject": transmission.content.get("subject"),
        "from": transmission.content.get("from"),
        "start_time": clock.iso_offset(start_ms / 1000) if start_ms else None,
    }
