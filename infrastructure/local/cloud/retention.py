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
from datetime import datetime
from typing import Any

from ministack.core.responses import AccountRegionScopedDict
from ministack.services import dynamodb, s3, sqs

from chalicelib.core.json_types import Json
from infrastructure.local.cloud.items import Items
from infrastructure.local.cloud.table_items import tables

INTERVAL = 60.0
_DAY = 86_400
_DEFAULT_RETENTION = 345_600


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


async def keep() -> None:
    """Sweep every minute. Runs until cancelled."""
    while True:
        await asyncio.sleep(INTERVAL)
        sweep(time.time())


def sweep(now: float) -> int:
    """Remove what is no longer kept at the time ``now``; return how much that was."""
    _forget_transactions(now)
    return _expire_items(now) + _expire_messages(now) + _expire_objects(now)


def _forget_transactions(now: float) -> None:
    """Forget the tokens of transactions, which MiniStack does only at the next transaction."""
    tokens = dynamodb._txn_idempotency._data
    oldest = now - dynamodb._TXN_TOKEN_TTL
    for key in [key for key, each in tokens.items() if each["completed_at"] <= oldest]:
        del tokens[key]


def _expire_items(now: float) -> int:
    keys = [
        (table, *key)
        for _, table in tables()
        if isinstance(table["items"], Items)
        for key in table["items"].expired(now)
    ]
    for key in keys:
        dynamodb._remove_item(*key)
    return len(keys)


def _expire_messages(now: float) -> int:
    count = 0
    for queue in sqs._queues._data.values():
        retention = int(queue["attributes"].get("MessageRetentionPeriod", _DEFAULT_RETENTION))
        messages = queue["messages"]
        young = [each for each in messages if now - _entry_time(each, now) < retention]
        if len(young) < len(messages):
            queue["messages"] = young
            count += len(messages) - len(young)
    return count


def _entry_time(message: Json, default: float) -> float:
    return float(message.get("enqueued_at") or message.get("sent_at") or default)


def _expire_objects(now: float) -> int:
    count = 0
    for bucket, rule in list(_lifecycle_rules()):
        objects = (s3._buckets.get(bucket) or {}).get("objects", {})
        latest = now - int(rule["ExpirationInDays"]) * _DAY
        for key in [
            key
            for key, each in objects.items()
            if key.startswith(rule.get("Prefix", "")) and _modified(each) <= latest
        ]:
            s3._delete_object(bucket, key)
            count += 1
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


def _modified(object_: Json) -> float:
    return datetime.fromisoformat(object_["last_modified"]).timestamp()
