"""Check that a target is fresh, and remove what its first start has made.

A target takes one move. It notes which, so that a move that goes on is told from another one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from typing import Final

from chalicelib.core.json_types import Json
from chalicelib.core.scope import SYSTEM_ACCOUNT
from infrastructure.bootstrap import ACCOUNT_ID, DOMAIN
from infrastructure.machine.moving import target_writes
from infrastructure.machine.moving.checkpoint import Checkpoint
from infrastructure.machine.moving.failures import MoveRefused
from infrastructure.machine.moving.kinds import NOTES, TABLES, Kind, rule_of
from infrastructure.machine.moving.object_copy import keys_of as object_keys
from infrastructure.machine.moving.place import Place, key_of

_ORIGIN: Final = "source"
_CLEARED: Final = "cleared"
#: Keys of what a first start makes, and of what the schedules make of it
_FIRST_START: Final = re.compile(
    rf"account#({SYSTEM_ACCOUNT}|{ACCOUNT_ID})/account|key#.*/key|domain#.*/(domain|claim)"
    rf"|template#{SYSTEM_ACCOUNT}#.*/.*|due#sending-domains/.*"
    rf"|default#bounce-domain#{ACCOUNT_ID}/.*|usage#\d+#\d+/usage"
)
_MOST_KEYS: Final = 1


def begin(source: Place, target: Place, checkpoint: Checkpoint) -> None:
    """Take the target for this move and empty it, unless that was done before.

    Raises :class:`MoveRefused` if it is the target of another move, or has data of its own.
    """
    if checkpoint.note(_CLEARED):
        _require_own(target, checkpoint)
        return
    if target.get("config", NOTES, _ORIGIN) is not None:
        _require_own(target, checkpoint)
    items = require_fresh(target)
    note = key_of(NOTES, _ORIGIN) | {
        "id": {"S": checkpoint.move_id},
        "name": {"S": source.name},
        "begun": {"N": str(int(time.time()))},
    }
    target_writes.put(target, "config", note, None)
    _require_own(target, checkpoint)
    target.adopt(source)
    for item in _to_remove(items, source, target):
        target.dynamodb.delete_item(
            TableName=target.table("config"), Key={"pk": item["pk"], "sk": item["sk"]}
        )
    checkpoint.set_note(_CLEARED, "yes")


def require_usable(target: Place, checkpoint: Checkpoint) -> None:
    """Raise :class:`MoveRefused` if a target cannot be taken; nothing is written."""
    if target.get("config", NOTES, _ORIGIN) is not None:
        _require_own(target, checkpoint)
    else:
        require_fresh(target)


def _require_own(target: Place, checkpoint: Checkpoint) -> None:
    note = target.get("config", NOTES, _ORIGIN)
    if note is None or note["id"]["S"] != checkpoint.move_id:
        name = note["name"]["S"] if note else "nothing"
        raise MoveRefused(f"{target.name} has the data of another move (from {name})")


def require_fresh(target: Place) -> list[Json]:
    """Return the items that a first start has made; raises :class:`MoveRefused` for any others."""
    items = _items(target, "config")
    others = [item for item in items if not _is_of_first_start(item)]
    keys = [item for item in items if item["pk"]["S"].startswith("key#")]
    if not others and len(keys) <= _MOST_KEYS:
        others = [item for table in TABLES[1:] for item in _items(target, table)]
        if not others and not object_keys(target):
            return items
    what = f" ({others[0]['pk']['S']})" if others else ""
    raise MoveRefused(
        f"{target.name} has data of its own{what}: move into a stage or folder that nobody has used"
    )


def _items(place: Place, table: str) -> list[Json]:
    return [
        item
        for page in place.pages(table)
        for item in page.items
        if rule_of(table, item).kind is not Kind.PLACE
    ]


def _is_of_first_start(item: Json) -> bool:
    if not _FIRST_START.fullmatch(_name(item)):
        return False
    if item["sk"]["S"] == "domain":
        account = int(item["account_id"]["N"])
        return account == SYSTEM_ACCOUNT or item["pk"]["S"] == f"domain#{DOMAIN}"
    return True


def _to_remove(items: Iterable[Json], source: Place, target: Place) -> Iterator[Json]:
    """Yield what a first start has made but the service's own domain, if only the target has it.

    A service that makes what it lacks at each start makes that domain again.
    """
    if target.makes_first_start:
        yield from items
        return
    items = list(items)
    domains = [
        item["domain"]["S"]
        for item in items
        if item["sk"]["S"] == "domain" and int(item["account_id"]["N"]) == SYSTEM_ACCOUNT
    ]
    own = [name for name in domains if source.get("config", f"domain#{name}", "domain") is None]
    for item in items:
        if not any(_belongs_to(item, name) for name in own):
            yield item


def _belongs_to(item: Json, domain: str) -> bool:
    """Tell whether an item is a domain, its next check, or the claim on it or a name above it."""
    pk, sk = item["pk"]["S"], item["sk"]["S"]
    if pk == "due#sending-domains":
        return sk.endswith(f"#{domain}")
    name = pk.removeprefix("domain#")
    is_above = sk == "claim" and domain.endswith(f".{name}")
    return pk != name and (name == domain or is_above)


def _name(item: Json) -> str:
    return f"{item['pk']['S']}/{item['sk']['S']}"
