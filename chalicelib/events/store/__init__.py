"""Keep message events in the table ``events``.

Each module holds one entity, its keys and its access patterns: ``blocks`` the events themselves,
``day_index`` the days that have any, ``erasures`` the remaining fields of erased ones. The marks of
ingested events are in ``ingest/store.py``.
"""

from __future__ import annotations

from chalicelib.core.settings import settings


def expiry(moment_ms: int) -> int:
    """Return when an item about this moment expires, in Unix seconds."""
    return moment_ms // 1000 + settings().events_retention


def delivery_expiry(moment_ms: int) -> int:
    """Return when a recipient's block with a delivery expires, in Unix seconds.

    Recipient validation reads it until then; searches show nothing older than ``expiry`` says.
    """
    current = settings()
    return moment_ms // 1000 + max(current.events_retention, current.deliveries_retention)
