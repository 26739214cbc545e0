"""Show suppression entries and their counts as the API does (spec 2.9)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chalicelib.core import clock
from chalicelib.suppression.model import (
    NON_TRANSACTIONAL,
    SOURCES,
    TRACKING_CONSENT_REVOKED,
    TRANSACTIONAL,
    SuppressionEntry,
    Tally,
)


def entry_view(entry: SuppressionEntry) -> dict[str, Any]:
    """Return an entry as the API shows it."""
    optional = {
        "description": entry.description,
        "list_id": entry.list_id,
        "subaccount_id": entry.subaccount_id,
    }
    return {
        "recipient": entry.recipient,
        "type": entry.type,
        "source": entry.source,
        "created": clock.iso_offset(entry.created_ms // 1000),
        "updated": clock.iso_offset(entry.updated_ms // 1000),
        "transactional": entry.type == TRANSACTIONAL,
        "non_transactional": entry.type == NON_TRANSACTIONAL,
    } | {name: value for name, value in optional.items() if value}


def summary_view(tallies: Iterable[Tally]) -> dict[str, int]:
    """Return the counts by source as the summary shows them, and the total of these (spec 2.9).

    Those of revoked consent hold no mail back and are not counted: a recipient who opts out has one
    beside the entry that does.
    """
    numbers = dict.fromkeys((n for s, n in SOURCES.items() if s != TRACKING_CONSENT_REVOKED), 0)
    for tally in tallies:
        for (_, source), number in tally.items():
            if SOURCES[source] in numbers:
                numbers[SOURCES[source]] += number
    return numbers | {"total": sum(numbers.values())}
