"""How far a transmission is: told from its units, which know what was generated of them.

Nothing is counted while it is sent: the records that keep work apart hold the numbers.
"""

from __future__ import annotations

from typing import Any

from chalicelib.core import clock
from chalicelib.delivery.store import work_units
from chalicelib.transmissions.model import CANCELLED, GENERATING, SUBMITTED, SUCCESS
from chalicelib.transmissions.store.transmissions import Listed, Record

Json = dict[str, Any]


def show(record: Record) -> Json:
    """Return a transmission as ``GET /transmissions/{id}`` shows it, with real counts."""
    sent = record.transmission
    generated = work_units.generated_chunks(sent.id)
    done = len(generated) >= record.chunks
    times = [chunk.injected_ms for chunk in generated]
    draft = bool(sent.content.get("use_draft_template"))
    return {
        "id": sent.id,
        "campaign_id": sent.campaign_id,
        "description": sent.description,
        "state": _state(record.state, record.chunks, len(generated)),
        "content": _content(sent.template_id or sent.content.get("template_id", ""), draft),
        "rcpt_list_chunk_size": record.chunk_size,
        "rcpt_list_total_chunks": record.chunks,
        "num_rcpts": record.recipients,
        "num_generated": sum(unit.messages for unit in generated),
        "num_failed_gen": sum(unit.failed for unit in generated),
        "generation_start_time": _time(min(times, default=0)),
        "generation_end_time": _time(max(times, default=0) if done else 0),
        "return_path": sent.return_path,
        "substitution_data": sent.substitution_data,
        "metadata": sent.metadata,
        "options": sent.options | _schedule(sent.start_ms),
    }


def summary(listed: Listed) -> Json:
    """Return what a list shows of a transmission."""
    return {
        "id": listed.id,
        "campaign_id": listed.campaign_id,
        "description": listed.description,
        "state": _state(listed.state, listed.chunks, len(work_units.generated_chunks(listed.id))),
        "content": _content(listed.template_id, listed.draft),
    }


def _content(template_id: str, draft: bool) -> Json:
    if not template_id:
        return {"template_id": "inline"}
    return {"template_id": template_id, "use_draft_template": draft}


def _state(stored: str, chunks: int, generated: int) -> str:
    if stored == CANCELLED:
        return CANCELLED
    if generated >= chunks:
        return SUCCESS
    return GENERATING if generated or stored == GENERATING else SUBMITTED


def _schedule(start_ms: int) -> Json:
    return {"start_time": _time(start_ms)} if start_ms else {}


def _time(moment_ms: int) -> str | None:
    return clock.iso_offset(moment_ms / 1000) if moment_ms else None
