"""Keep everything of MiniStack but items, messages and objects: its declarations, settings, keys.

That is little and changes rarely. After a request that may have changed any of it, all of it is
compared with what the store has; only that of DynamoDB or SQS after a request to one of them.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from ministack import app as ministack_app
from ministack.core import persistence

from chalicelib.core.json_types import Json
from infrastructure.local.cloud.earlier_state import SCOPED
from infrastructure.local.cloud.ministack_items import MinistackItems
from infrastructure.local.cloud.store import Store
from infrastructure.local.cloud.stored_queue import MinistackMessages

# Service, attribute, and entry of the attribute: the last is empty for what has no entries
Path = tuple[str, str, str]

# Members of entries that are counted from what is stored
_COUNTS = ("ItemCount", "TableSizeBytes")
_NOT_COPIED = ("cloudformation", "dynamodb", "sqs")
_encoder = json.JSONEncoder(default=persistence._json_default, separators=(",", ":"))


class Documents:
    """What the store has of each service."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._digests: dict[Path, bytes] = {}

    def restore(self) -> None:
        """Make what is stored the state of MiniStack's services."""
        states: defaultdict[str, Json] = defaultdict(dict)
        rows = self._store.read("SELECT service, attribute, entry, value FROM documents ORDER BY 3")
        for service, attribute, entry, value in rows.fetchall():
            self._digests[service, attribute, entry] = _digest(value)
            if entry:
                states[service][attribute]["data"][entry] = json.loads(value)
            else:
                states[service][attribute] = json.loads(value)
        for service, module in ministack_app._state_map.items():
            if state := states.get(service):
                text = json.dumps(state)
                restored = json.loads(text, object_hook=persistence._json_object_hook)
                ministack_app._get_module(module).load_persisted_state(restored)

    def store_changes(self, service: str = "") -> Callable[[], None]:
        """Write what is no longer as the store has it, of one service or of all.

        A deployment lives in a task that a restart would not resume: it is stored as a whole or not
        at all. Returns what is to be called when it is committed.
        """
        if deploying():
            return lambda: None
        digests: dict[Path, bytes | None] = {
            path: None for path in self._digests if not service or path[0] == service
        }
        for path, value in documents(service):
            digest = _digest(value)
            if self._digests.get(path) == digest:
                digests.pop(path)
                continue
            digests[path] = digest
            self._store.write(
                "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?)", (*path, value)
            )
        for path, change in digests.items():
            if change is None:
                self._store.write(
                    "DELETE FROM documents WHERE (service, attribute, entry) = (?, ?, ?)", path
                )
        return lambda: self._remember(digests)

    def _remember(self, digests: dict[Path, bytes | None]) -> None:
        for path, digest in digests.items():
            if digest is None:
                self._digests.pop(path, None)
            else:
                self._digests[path] = digest


def documents(service: str = "") -> Iterator[tuple[Path, str]]:
    """Yield everything of one service, or of all, as JSON."""
    for each, get_state in ministack_app._build_persistence_save_dict().items():
        if service and service != each:
            continue
        for attribute, value in (_state_of(each, get_state) or {}).items():
            yield from _attribute(each, attribute, value)


def deploying() -> bool:
    """Tell whether a CloudFormation stack is being changed."""
    cloudformation = sys.modules.get("ministack.services.cloudformation")
    if cloudformation is None:
        return False
    stacks = cloudformation._stacks.all_values()
    return any(stack["StackStatus"].endswith("_IN_PROGRESS") for stack in stacks)


def _state_of(service: str, get_state: Callable[[], Any]) -> Any:
    """Return the state of a service, of which MiniStack makes a copy where it is small."""
    if service not in _NOT_COPIED:
        return get_state()
    module = sys.modules[f"ministack.services.{service}"]
    copies = module.copy
    module.copy = SimpleNamespace(deepcopy=lambda value: value)  # type: ignore[attr-defined]
    try:
        return get_state()
    finally:
        module.copy = copies  # type: ignore[attr-defined]


def _attribute(service: str, attribute: str, value: Any) -> Iterator[tuple[Path, str]]:
    try:
        scoped = persistence._json_default(value)
    except TypeError:
        scoped = value
    if not isinstance(scoped, dict) or not any(scoped.get(kind) for kind in SCOPED):
        yield (service, attribute, ""), _encoder.encode(value)
        return
    yield (service, attribute, ""), _encoder.encode({**scoped, "data": {}})
    for key, entry in scoped["data"].items():
        yield (service, attribute, key), _encoder.encode(_without_contents(entry))


def _without_contents(entry: Any) -> Any:
    """Return an entry without what is stored elsewhere."""
    if not isinstance(entry, dict):
        return entry
    elsewhere = (MinistackItems, MinistackMessages)
    counts = _COUNTS if isinstance(entry.get("items"), MinistackItems) else ()
    return {
        name: member
        for name, member in entry.items()
        if not isinstance(member, elsewhere) and name not in counts
    }


def _digest(value: str) -> bytes:
    return hashlib.blake2b(value.encode(), digest_size=16).digest()
