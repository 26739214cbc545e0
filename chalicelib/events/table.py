"""The table ``events``; ``events.places`` lists its access patterns."""

from __future__ import annotations

from chalicelib.core.dynamo import Table
from chalicelib.core.settings import settings

events = Table("events")


def expiry(moment_ms: int) -> int:
    """Return when what belongs to a moment goes away, in seconds."""
    return moment_ms // 1000 + settings().events_retention
