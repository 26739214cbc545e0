"""Tell how far a transmission is, by its record and the records of its work units."""

from __future__ import annotations

from chalicelib.core import clock
from chalicelib.delivery.store import work_units
from chalicelib.templates.model import Template
from chalicelib.transmissions.model import GENERATING, SUBMITTED, Transmission, visible_state
from chalicelib.transmissions.store import transmissions
from chalicelib.transmissions.store.transmissions import Record, Summary

_LONGEST_GENERATION_MS = 86_400_000
_ACTIVE = (SUBMITTED, GENERATING)


def state_of(transmission_id: str, record: Record | Summary) -> str:
    """Return the state that ``GET /transmissions/{id}`` shows."""
    chunks = work_units.generated_chunks(transmission_id)
    return visible_state(record.state, record.chunks, len(chunks))


def is_active(transmission_id: str) -> bool:
    """Tell whether a transmission is submitted or being generated."""
    record = transmissions.get(transmission_id)
    return record is not None and state_of(transmission_id, record) in _ACTIVE


def uses_template(template: Template) -> bool:
    """Tell whether a transmission of a template is submitted or being generated (spec 3).

    What was accepted for one recipient, to start at once, does not count: no index has it.
    Generation is thought to take a day at most.
    """
    since_ms = clock.now_ms() - _LONGEST_GENERATION_MS
    return any(
        each.template_id == template.id
        and each.state in _ACTIVE
        and state_of(each.id, each) in _ACTIVE
        and _is_of(template, each)
        for each in transmissions.recent(template.account_id, since_ms)
    )


def _is_of(template: Template, summary: Summary) -> bool:
    """Tell whether a transmission has its owner's template, or the one that is shared with it."""
    if template.subaccount_id not in (None, summary.subaccount_id):
        return False
    if summary.subaccount_id is None:
        return True
    return _shares(summary.id) == (template.subaccount_id is None)


def _shares(transmission_id: str) -> bool:
    record = transmissions.get(transmission_id)
    return record is not None and _shares_template(record.transmission)


def _shares_template(transmission: Transmission) -> bool:
    """Tell whether a subaccount's transmission has a template of the primary account."""
    if transmission.resolved or "template" not in transmission.leases:
        return transmission.shares_template
    owner, _ = transmission.leases["template"]
    return bool(owner != transmission.subaccount_id)
