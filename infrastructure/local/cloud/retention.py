"""Remove what the cloud would have removed by now: expired items, messages and objects.

Repairs (MiniStack 1.5.33):

- MiniStack reads every item of every table once a minute, to see whether it has expired.
- MiniStack removes the old messages of a queue only when somebody receives from it, which for
  dead-letter queues may be never.
- MiniStack never removes an object by the lifecycle rules of its bucket.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ministack.core.responses import AccountRegionScopedDict
from ministack.services import dynamodb

from chalicelib.core.json_types import Json
from infrastructure.local.cloud.item_requests import TOKEN_SECONDS
from infrastructure.local.cloud.state import State
from infrastructure.local.cloud.store import CannotStore
from infrastructure.local.cloud.stored_objects import UNUSED_SECONDS

INTERVAL = 60.0
_DAY = 86_400
# Requests are answered between two portions of what is removed or given back
_PORTION = 1_000
_PAUSE = 0.02


class _NotSwept(AccountRegionScopedDict):
    """Settings of tables that MiniStack's own sweep does not see."""

    __slots__ = ()

    def all_items(self) -> list[Any]:
        return []


def install() -> None:
    """Replace MiniStack's own sweep."""
    settings = _NotSwept()
    settings._data = dynamodb._ttl_settings._data
    dynamodb._ttl_settings = settings


async def keep(state: State) -> None:
    """Sweep every minute, and give space back. Runs until cancelled."""
    next_look = time.monotonic()
    while True:
        await asyncio.sleep(INTERVAL)
        with suppress(CannotStore):
            while remove_some(state, time.time()):
                await asyncio.sleep(_PAUSE)
        if state.store.has_much_free():
            while state.store.give_back():
                await asyncio.sleep(_PAUSE)
        if time.monotonic() >= next_look:
            next_look = time.monotonic() + UNUSED_SECONDS
            with suppress(OSError):
                await asyncio.to_thread(state.objects.remove_unused_files)


def sweep(state: State, now: float) -> int:
    """Remove what is no longer kept at the time ``now``; return how much that was.

    Raises :class:`CannotStore`.
    """
    count = 0
    while portion := remove_some(state, now):
        count += portion
    return count


def remove_some(state: State, now: float) -> int:
    """Remove a portion of what is no longer kept; return how much that was.

    Raises :class:`CannotStore`, and nothing is removed.
    """
    store = state.store
    with store.transaction():
        store.write("DELETE FROM transactions WHERE at <= ?", (now - TOKEN_SECONDS,))
        count = sum(table.expire(now, _PORTION) for table in state.tables)
        count += sum(queue.expire(now, _PORTION) for queue in state.queues)
        for bucket, rule in list(_lifecycle_rules()):
            latest = now - int(rule["ExpirationInDays"]) * _DAY
            prefix = rule.get("Prefix", "")
            count += state.objects.expire(bucket, prefix, latest, _PORTION)
    return count


def _lifecycle_rules() -> Iterator[tuple[str, Json]]:
    """Yield the rules of the buckets of all stacks: MiniStack keeps a stack's template only."""
    cloudformation = sys.modules.get("ministack.services.cloudformation")
    if cloudformation is None:
        return
    for stack in cloudformation._stacks._data.values():
        for resource in stack.get("_resources", {}).values():
            if resource.get("ResourceType") == "AWS::S3::Bucket":
                lifecycle = resource.get("Properties", {}).get("LifecycleConfiguration", {})
                for rule in lifecycle.get("Rules", ()):
                    if rule.get("Status") == "Enabled" and "ExpirationInDays" in rule:
                        yield resource["PhysicalResourceId"], rule
