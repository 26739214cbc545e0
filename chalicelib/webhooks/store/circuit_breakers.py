"""Store the circuit breaker of each webhook.

Access patterns of ``webhooks``:

- the circuit breaker of a webhook → ``webhook#<webhook id>`` / ``state``

A busy webhook is posted to many times a second; its last success and failure are written about
once in ``WEBHOOK_NOTE_INTERVAL``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NotRequired

from chalicelib.core.dynamo import ConditionFailed, Key, Keyed, Table
from chalicelib.core.settings import settings
from chalicelib.webhooks.circuit_breaker import CircuitBreaker


class CircuitBreakerItem(Keyed):
    """The circuit breaker of a webhook: the fields of ``CircuitBreaker``."""

    success_ms: NotRequired[int]
    failure_ms: NotRequired[int]
    #: The posts in a row that were not answered in good time
    unanswered: NotRequired[int]
    #: Until when the breaker is open
    paused_until_ms: NotRequired[int]
    #: Only for a deleted webhook
    expires: NotRequired[int]


_table: Table[CircuitBreakerItem] = Table("webhooks")

#: The queued batches of a deleted webhook still use its breaker
_KEPT_MS = 3 * 86_400_000

#: The stored attribute of each field
_ATTRIBUTES = {
    "success_ms": "success_ms",
    "failure_ms": "failure_ms",
    "timeouts": "unanswered",
    "open_until_ms": "paused_until_ms",
}


def key_of(webhook_id: str) -> Key:
    """Return the key of a webhook's breaker."""
    return (f"webhook#{webhook_id}", "state")


def from_item(item: CircuitBreakerItem | None) -> CircuitBreaker:
    """Return the breaker in an item of the table; without an item, that of a new webhook."""
    if not item:
        return CircuitBreaker()
    attributes: Mapping[str, Any] = item
    fields = {name: attributes[at] for name, at in _ATTRIBUTES.items() if at in attributes}
    return CircuitBreaker(**fields)


def of_all(webhook_ids: Iterable[str]) -> dict[str, CircuitBreaker]:
    """Return the breaker of each webhook; costs a request for 100 of them."""
    ids = {key_of(webhook_id): webhook_id for webhook_id in webhook_ids}
    breakers = {ids[item["pk"], item["sk"]]: from_item(item) for item in _table.get_all(ids)}
    return {webhook_id: breakers.get(webhook_id, CircuitBreaker()) for webhook_id in ids.values()}


def record_success(webhook_id: str, breaker: CircuitBreaker, now_ms: int) -> None:
    """Close the breaker: the target took a batch. Writes nothing if it did so just before."""
    _record_answer(webhook_id, breaker, now_ms, "success_ms")


def record_failure(webhook_id: str, breaker: CircuitBreaker, now_ms: int) -> None:
    """Close the breaker: the target refused a batch in good time. Writes as seldom as successes."""
    _record_answer(webhook_id, breaker, now_ms, "failure_ms")


def open_until(webhook_id: str, breaker: CircuitBreaker, now_ms: int, until_ms: int) -> None:
    """Open the breaker until a time: the target did not answer in good time."""
    _set(webhook_id, failure_ms=now_ms, timeouts=breaker.timeouts + 1, open_until_ms=until_ms)


def claim_half_open(webhook_id: str, breaker: CircuitBreaker, until_ms: int) -> bool:
    """Claim the one post of a half-open breaker; ``False`` if another worker has claimed it.

    For all other workers the breaker is open again until ``until_ms``.
    """
    try:
        _table.update(
            *key_of(webhook_id),
            "SET #paused_until_ms = :until",
            values={"until": until_ms, "seen": breaker.open_until_ms},
            condition="#paused_until_ms = :seen",
        )
    except ConditionFailed:
        return False
    return True


def expire(webhook_id: str, deleted_ms: int) -> None:
    """Let the table remove the breaker of a webhook some days after it was deleted."""
    expires = (deleted_ms + _KEPT_MS) // 1000
    _table.update(*key_of(webhook_id), "SET #expires = :at", values={"at": expires})


def _record_answer(webhook_id: str, breaker: CircuitBreaker, now_ms: int, field: str) -> None:
    if breaker.timeouts:
        _set(webhook_id, **{field: now_ms}, timeouts=0, open_until_ms=0)
    elif now_ms - getattr(breaker, field) >= settings().webhook_note_interval * 1000:
        _set(webhook_id, **{field: now_ms})


def _set(webhook_id: str, **fields: int) -> None:
    values = {_ATTRIBUTES[name]: value for name, value in fields.items()}
    changes = "SET " + ", ".join(f"#{name} = :{name}" for name in values)
    _table.update(*key_of(webhook_id), changes, values=values)
