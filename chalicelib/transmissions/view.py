"""Show transmissions: the reply to an accepted one, the view of one, and its summary in a list.

The progress of a transmission follows from the records of its work units, which hold how many
messages were generated. No counter is written while it is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chalicelib.core import clock
from chalicelib.core.http import Reply, ok
from chalicelib.core.json_types import Json
from chalicelib.delivery.store import work_units
from chalicelib.delivery.store.work_units import ChunkRecord
from chalicelib.transmissions.accept import Acceptance
from chalicelib.transmissions.model import Transmission, visible_state
from chalicelib.transmissions.store.transmissions import Record, Summary

_INLINE: Final = "inline"


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
    last_ms = max((chunk.injected_ms for chunk in chunks), default=0)
    return {
        "id": transmission.id,
        "campaign_id": transmission.campaign_id,
        "description": transmission.description,
        "state": visible_state(record.state, record.chunks, len(chunks)),
        "content": _content_of(transmission),
        "rcpt_list_chunk_size": record.chunk_size,
        "rcpt_list_total_chunks": record.chunks,
        **_progress(record.recipients, chunks),
        "generation_end_time": _time(last_ms if is_complete else 0),
        "return_path": transmission.return_path,
        "substitution_data": transmission.substitution_data,
        "metadata": transmission.metadata,
        "options": transmission.requested_options | _schedule(transmission.start_ms),
    }


def summary_view(summary: Summary) -> Json:
    """Return a transmission as a list shows it, with the counts that its state follows from."""
    chunks = work_units.generated_chunks(summary.id)
    return {
        "id": summary.id,
        "campaign_id": summary.campaign_id,
        "description": summary.description,
        "state": visible_state(summary.state, summary.chunks, len(chunks)),
        "content": _content(summary.template_id, summary.draft),
        **_progress(summary.recipients, chunks),
    }


def _progress(recipients: int, chunks: Sequence[ChunkRecord]) -> Json:
    return {
        "num_rcpts": recipients,
        "num_generated": sum(chunk.messages for chunk in chunks),
        "num_failed_gen": sum(chunk.failed for chunk in chunks),
        "generation_start_time": _time(min((chunk.injected_ms for chunk in chunks), default=0)),
    }


def _content_of(transmission: Transmission) -> Json:
    """Return where the content comes from; an A/B test chooses its template at the start."""
    content = transmission.requested_content
    template_id = transmission.template_id or content.get("template_id", "")
    if "ab_test_id" in content:
        chosen_template = {"template_id": template_id} if template_id else {}
        return {"ab_test_id": content["ab_test_id"]} | chosen_template
    return _content(template_id, bool(content.get("use_draft_template")))


def shown_template_id(summary: Summary) -> str:
    """Return the template id that a list shows, by which it can be filtered."""
    return summary.template_id or _INLINE


def _content(template_id: str, draft: bool) -> Json:
    if not template_id:
        return {"template_id": _INLINE}
    return {"template_id": template_id, "use_draft_template": draft}


def _schedule(start_ms: int) -> Json:
    return {"start_time": _time(start_ms)} if start_ms else {}


def _time(moment_ms: int) -> str | None:
    return clock.iso_offset(moment_ms / 1000) if moment_ms else None
