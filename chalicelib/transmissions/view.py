"""Show transmissions: the reply to an accepted one, the view of one, and its summary in a list.

The progress of a transmission follows from the records of its work units, which hold how many
messages were generated. No counter is written while it is sent.
"""

from __future__ import annotations

from typing import Any

from chalicelib.core import clock
from chalicelib.core.http import Reply, ok
from chalicelib.delivery.store import work_units
from chalicelib.transmissions.accept import Acceptance
from chalicelib.transmissions.model import Transmission, visible_state
from chalicelib.transmissions.progress import state_of
from chalicelib.transmissions.store.transmissions import Record, Summary

Json = dict[str, Any]


def acceptance_reply(acceptance: Acceptance, most_errors: int) -> Reply:
    """Return the reply to an accepted request, with ``most_errors`` errors at most."""
    rejected = acceptance.refusals.count
    results: Json = {
        "id": acceptance.id,
        "total_accepted_recipients": acceptance.count,
        "total_rejected_recipients": rejected,
    }
    if not rejected:
        return ok(results)
    error = {
        "message": "transmission created, but with validation errors",
        "code": "2000",
        "description": f"{rejected} recipient(s) were not accepted",
    }
    errors = acceptance.refusals.first(most_errors)
    return ok(results | {"rcpt_to_errors": errors}, errors=[error])


def transmission_view(record: Record) -> Json:
    """Return a transmission as ``GET /transmissions/{id}`` shows it, with real counts."""
    transmission = record.transmission
    chunks = work_units.generated_chunks(transmission.id)
    is_complete = len(chunks) >= record.chunks
    times_ms = [chunk.injected_ms for chunk in chunks]
    return {
        "id": transmission.id,
        "campaign_id": transmission.campaign_id,
        "description": transmission.description,
        "state": visible_state(record.state, record.chunks, len(chunks)),
        "content": _content_of(transmission),
        "rcpt_list_chunk_size": record.chunk_size,
        "rcpt_list_total_chunks": record.chunks,
        "num_rcpts": record.recipients,
        "num_generated": sum(chunk.messages for chunk in chunks),
        "num_failed_gen": sum(chunk.failed for chunk in chunks),
        "generation_start_time": _time(min(times_ms, default=0)),
        "generation_end_time": _time(max(times_ms, default=0) if is_complete else 0),
        "return_path": transmission.return_path,
        "substitution_data": transmission.substitution_data,
        "metadata": transmission.metadata,
        "options": transmission.requested_options | _schedule(transmission.start_ms),
    }


def summary_view(summary: Summary) -> Json:
    """Return a transmission as a list shows it."""
    return {
        "id": summary.id,
        "campaign_id": summary.campaign_id,
        "description": summary.description,
        "state": state_of(summary.id, summary),
        "content": _content(summary.template_id, summary.draft),
    }


def _content_of(transmission: Transmission) -> Json:
    """Return where the content comes from; an A/B test chooses its template at the start."""
    content = transmission.requested_content
    template_id = transmission.template_id or content.get("template_id", "")
    if "ab_test_id" in content:
        chosen_template = {"template_id": template_id} if template_id else {}
        return {"ab_test_id": content["ab_test_id"]} | chosen_template
    return _content(template_id, bool(content.get("use_draft_template")))


def _content(template_id: str, draft: bool) -> Json:
    if not template_id:
        return {"template_id": "inline"}
    return {"template_id": template_id, "use_draft_template": draft}


def _schedule(start_ms: int) -> Json:
    return {"start_time": _time(start_ms)} if start_ms else {}


def _time(moment_ms: int) -> str | None:
    return clock.iso_offset(moment_ms / 1000) if moment_ms else None
