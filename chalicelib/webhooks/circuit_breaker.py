"""How a webhook's target has answered lately, and whether it is left alone for a while.

Access patterns (table ``webhooks``):

- the state of a webhook → ``pk = webhook#<id>``, ``sk = state``

A busy webhook is posted to many times a second; its last success and failure are written about
once in ``WEBHOOK_NOTE_INTERVAL``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chalicelib.core.dynamo import ConditionFailed, Item, Key, Table
from chalicelib.core.settings import settings

_table = Table("webhooks")


@dataclass(frozen=True, slots=True)
class State:
    """Times are milliseconds, 0 for never.

    ``unanswered``: posts in a row that the target did not answer in good time; after each it is
    left alone until ``paused_until_ms``.
    """

    success_ms: int = 0
    failure_ms: int = 0
    unanswered: int = 0
    paused_until_ms: int = 0


def key_of(webhook_id: str) -> Key:
    """Return where the state of a webhook is kept."""
    return (f"webhook#{webhook_id}", "state")


def from_item(item: Item | None) -> State:
    """Return the state that an item of the table holds; of no item, that of a new webhook."""
    return State(**{name: item[name] for name in State.__slots__ if name in item} if item else {})


def of_all(webhook_ids: Iterable[str]) -> dict[str, State]:
    """Return the state of each webhook, 100 a request."""
    keys = {key_of(each): each for each in webhook_ids}
    found = {keys[item["pk"], item["sk"]]: from_item(item) for item in _table.get_all(keys)}
    return {each: found.get(each, State()) for each in keys.values()}


def note_success(webhook_id: str, known: State, now_ms: int) -> None:
    """Note that the target took a batch, unless that was noted just now."""
    _note(webhook_id, known, now_ms, "success_ms")


def note_failure(webhook_id: str, known: State, now_ms: int) -> None:
    """Note that the target refused a batch in good time, unless that was noted just now."""
    _note(webhook_id, known, now_ms, "failure_ms")


def pause(webhook_id: str, known: State, now_ms: int, until_ms: int) -> None:
    """Note that the target did not answer in good time, and leave it alone until then."""
    _set(
        webhook_id,
        failure_ms=now_ms,
        unanswered=known.unanswered + 1,
        paused_until_ms=until_ms,
    )


def claim_probe(webhook_id: str, known: State, until_ms: int) -> bool:
    """Take it upon oneself to try a target whose pause is over; ``False`` if another did.

    Until ``until_ms`` it stays paused for everybody else.
    """
    try:
        _table.update(
            *key_of(webhook_id),
            "SET #paused_until_ms = :until",
            values={"until": until_ms, "seen": known.paused_until_ms},
            condition="#paused_until_ms = :seen",
        )
    except ConditionFailed:
        return False
    return True


def expire(webhook_id: str, at_ms: int) -> None:
    """Let the state go at a time: its webhook is deleted."""
    _set(webhook_id, expires=at_ms // 1000)


def _note(webhook_id: str, known: State, now_ms: int, name: str) -> None:
    if known.unanswered:  # it answers again, so its pause is over
        _set(webhook_id, **{name: now_ms}, unanswered=0, paused_until_ms=0)
    elif now_ms - getattr(known, name) >= settings().webhook_note_interval * 1000:
        _set(webhook_id, **{name: now_ms})


def _set(webhook_id: str, **values: int) -> None:
    change = "SET " + ", ".join(f"#{name} = :{name}" for name in values)
    _table.update(*key_of(webhook_id), change, values=values)
