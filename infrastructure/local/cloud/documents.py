"""Note the changes of everything in the local cloud but items, messages and objects.

That is little and changes rarely: declarations of tables, queues, functions and stacks, settings,
keys. After a request that may have changed any of it, all of it is compared with what the log has;
only that of DynamoDB or SQS after a request to one of them.
"""

from __future__ import annotations

import copy
import hashlib
import json
import sys
from collections.abc import Callable, Collection, Iterator
from types import SimpleNamespace
from typing import Any

from ministack import app as ministack_app
from ministack.core import persistence

from infrastructure.local.cloud.changes import Change
from infrastructure.local.cloud.earlier_snapshot import SCOPED
from infrastructure.local.cloud.journal import ChangeJournal

Path = tuple[str, ...]

# Members of the entries of a service's attribute that are noted otherwise, or counted at the start
_ELSEWHERE = {
    ("dynamodb", "tables"): {"items", "ItemCount", "TableSizeBytes"},
    ("sqs", "queues"): {"messages"},
}
_NOT_COPIED = ("cloudformation", "dynamodb", "sqs")
_encoder = json.JSONEncoder(default=persistence._json_default, separators=(",", ":"))


class Documents:
    """What the log says of each service. ``adopt`` notes what new tables and queues contain."""

    def __init__(self, adopt: Callable[[], None]) -> None:
        self._adopt = adopt
        self._digests: dict[Path, bytes] = {}
        self._changed: set[str] = set()

    def remember(self, change: Change) -> None:
        """Note that the log says this, or no longer says it."""
        if change.value is None:
            self._digests.pop(change.path, None)
        else:
            self._digests[change.path] = _digest(change.value)

    def may_have_changed(self, service: str = "") -> None:
        """Compare what this service has, or everything, when the next changes are written."""
        self._changed.add(service)

    def note_changes(self, journal: ChangeJournal) -> None:
        """Note what is no longer as the log says, unless a deployment is under way.

        A deployment lives in a task that a restart would not resume: it is in the log as a whole or
        not at all.
        """
        if not self._changed or deploying():
            return
        services = frozenset() if "" in self._changed else frozenset(self._changed)
        self._changed.clear()
        paths = {path for path in self._digests if not services or path[1] in services}
        for change in document_changes(services):
            paths.discard(change.path)
            assert change.value is not None
            if self._digests.get(change.path) != _digest(change.value):
                self.remember(change)
                journal.note(change)
        for path in sorted(paths):
            self.remember(Change(path, None))
            journal.remove(path)
        self._adopt()


def document_changes(services: Collection[str] = ()) -> Iterator[Change]:
    """Yield the changes that put everything but items, messages and objects.

    Those of these ``services``, or of all.
    """
    for service, get_state in ministack_app._build_persistence_save_dict().items():
        if services and service not in services:
            continue
        state = _state_of(service, get_state)
        for attribute, value in (state or {}).items():
            yield from _attribute_changes(service, attribute, value)


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
    module.copy = SimpleNamespace(deepcopy=lambda value: value)  # type: ignore[attr-defined]
    try:
        return get_state()
    finally:
        module.copy = copy  # type: ignore[attr-defined]


def _attribute_changes(service: str, attribute: str, value: Any) -> Iterator[Change]:
    path = ("document", service, attribute)
    try:
        scoped = persistence._json_default(value)
    except TypeError:
        scoped = value
    if not isinstance(scoped, dict) or not any(scoped.get(kind) for kind in SCOPED):
        yield Change(path, _encoder.encode(value).encode())
        return
    yield Change(path, _encoder.encode({**scoped, "data": {}}).encode())
    elsewhere = _ELSEWHERE.get((service, attribute), set())
    for key, entry in scoped["data"].items():
        if elsewhere:
            entry = {name: member for name, member in entry.items() if name not in elsewhere}
        yield Change((*path, key), _encoder.encode(entry).encode())


def _digest(value: bytes) -> bytes:
    return hashlib.blake2b(value, digest_size=16).digest()
