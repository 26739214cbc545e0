"""Show what waits for providers' limits, by path, and what is in force there."""

from __future__ import annotations

from collections.abc import Iterator

from chalicelib.core import clock
from chalicelib.core.json_types import Json
from chalicelib.delivery.shaping import backoff, store
from chalicelib.delivery.shaping.limits import limits_of


def entries(account: str = "") -> list[Json]:
    """Return an entry for each path that has mail waiting, of one account or of all.

    The view of all is the operator's. It also has paths without mail that are paused or slowed
    down; an account must not see those, which the mail of other accounts may have used.
    """
    pauses = store.pauses()
    now_ms = clock.now_ms()
    slow_ms = backoff.SLOW_SECONDS * 1000
    slowed = {path for path, each in pauses.items() if now_ms < each.until_ms + slow_ms}
    paths = sorted({*store.held_paths(), *slowed})
    return [
        entry
        for path in paths
        for entry in _entry(path, pauses.get(path) if path in slowed else None, account)
    ]


def _entry(path: str, pause: store.Pause | None, account: str) -> Iterator[Json]:
    backlogs = store.backlogs_of(path, account)
    if not backlogs and (account or pause is None):
        return
    group, source_address = store.group_of_path(path)
    limits = limits_of(group)
    rate = backoff.rate_in_force(limits.rate, pause)
    is_paused = pause is not None and clock.now_ms() < pause.until_ms
    first = min(backlogs, key=lambda each: each.since_ms, default=None)
    fields: Json = {
        "group": group,
        "source_address": source_address or None,
        "waiting": sum(each.messages for each in backlogs),
        "waiting_since": clock.iso_ms(first.since_ms) if first else None,
        "reason": first.reason if first else None,
        "messages_per_second": 0.0 if is_paused else rate or None,
        "connections": limits.connections,
        "messages_per_connection": limits.messages_per_connection,
        "paused_until": clock.iso_ms(pause.until_ms) if pause and is_paused else None,
        "last_answers": list(pause.answers) if pause else [],
    }
    yield {name: value for name, value in fields.items() if value is not None}
