"""Restore the local cloud's state from the changes that it consists of."""

from __future__ import annotations

import json
import time
from ast import literal_eval
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ministack import app as ministack_app
from ministack.core import persistence
from ministack.services import dynamodb, sqs

from chalicelib.core.json_types import Json
from infrastructure.local.cloud.base_file import BaseFile
from infrastructure.local.cloud.changes import Change
from infrastructure.local.cloud.documents import Documents
from infrastructure.local.cloud.item_file import ItemFile
from infrastructure.local.cloud.items import Items
from infrastructure.local.cloud.journal import ChangeJournal
from infrastructure.local.cloud.queue_changes import Queue
from infrastructure.local.cloud.table_items import Digest, tables

Name = tuple[str, str, str]

_TABLE_PATH = 4
_WITH_CONTENTS = (("dynamodb", "tables"), ("sqs", "queues"))


class Contradiction(Exception):
    """A change that does not fit what is there."""


class Restoration:
    """The state as it is after the changes so far."""

    def __init__(self, file: ItemFile, documents: Documents) -> None:
        self._file = file
        self._documents = documents
        self._texts: dict[tuple[str, ...], bytes] = {}
        self._items: dict[Name, Items] = {}
        self._messages: defaultdict[Name, dict[str, Json]] = defaultdict(dict)
        self._fifo: defaultdict[Name, Json] = defaultdict(dict)
        self._tokens: dict[Name, Json] = {}
        self._appliers = {
            "document": self._apply_document,
            "item": self._apply_item,
            "message": self._apply_message,
            "receipt": self._apply_receipt,
            "token": self._apply_token,
        }

    def apply(self, changes: Iterable[Change]) -> None:
        """Apply changes, oldest first; raises :class:`Contradiction`."""
        appliers = self._appliers
        for change in changes:
            try:
                appliers[change[0][0]](change)
            except (KeyError, ValueError, IndexError) as error:
                raise Contradiction(f"{change.path[:4]}: {error!r}") from error
        self._file.flush()

    def serve(self, base: BaseFile) -> None:
        """Let the items that a base has be among those of the tables."""
        self._file.base_descriptor = base.descriptor
        for name, table in base.tables.items():
            self._items[name] = Items(name, self._file, table)

    def install(self, journal: ChangeJournal) -> None:
        """Make this the state of MiniStack's services; raises :class:`Contradiction`."""
        for service, module in ministack_app._state_map.items():
            if state := self._state_of(service):
                ministack_app._get_module(module).load_persisted_state(state)
        for name, table in tables():
            items = self._items.pop(name, None)
            table["items"] = items = Items(name, self._file) if items is None else items
            table["ItemCount"] = items.count()
            table["TableSizeBytes"] = table["ItemCount"] * 200
        for name, queue in list(sqs._queues._data.items()):
            queue["messages"] = list(self._messages.pop(name, {}).values())
            for message in self._fifo[name].values():
                _count_fifo_message(queue, message)
            sqs._queues._data[name] = Queue(queue, name, journal)
        if unknown := [name for name in (*self._items, *self._messages) if self._has(name)]:
            raise Contradiction(f"{unknown[0]} is not declared")
        dynamodb._txn_idempotency._data.update(self._tokens)

    def _has(self, name: Name) -> bool:
        items = self._items.get(name)
        return bool((items is not None and items.count()) or self._messages.get(name))

    def _state_of(self, service: str) -> Any:
        """Return what MiniStack restores a service from."""
        attributes: Json = {}
        for path, text in self._texts.items():
            if path[1] == service and len(path) == 3:
                attributes[path[2]] = json.loads(text)
        for path, text in self._texts.items():
            if path[1] == service and len(path) == 4:
                attributes[path[2]]["data"][path[3]] = json.loads(text)
        return json.loads(json.dumps(attributes), object_hook=persistence._json_object_hook)

    def _apply_document(self, change: Change) -> None:
        self._documents.remember(change)
        if change.value is not None:
            self._texts[change.path] = change.value
            return
        del self._texts[change.path]
        if len(change.path) == 4 and change.path[1:3] in _WITH_CONTENTS:
            account, region, name = change.path[3].split("\0", 2)
            self._items.pop((account, region, literal_eval(name)), None)
            self._messages.pop((account, region, literal_eval(name)), None)

    def _apply_item(self, change: Change) -> None:
        path, value, expires = change
        name: Name = path[1:4]  # type: ignore[assignment]
        items = self._items.get(name)
        if items is None:
            items = self._items[name] = Items(name, self._file)
        if len(path) == _TABLE_PATH:
            items.clear()
        elif value is not None:
            items.put(path[4], path[5], value, expires)
        else:
            # Which is not here when the item expired since
            items.discard(path[4], path[5])

    def _apply_message(self, change: Change) -> None:
        _, account, region, url, *id_ = change.path
        messages = self._messages[account, region, url]
        if not id_:
            messages.clear()
        elif change.value is None:
            del messages[id_[0]]
        else:
            message = json.loads(change.value, object_hook=persistence._json_object_hook)
            messages[id_[0]] = message
            if message.get("dedup_cache_key"):
                self._fifo[account, region, url][message["dedup_cache_key"]] = message

    def _apply_receipt(self, change: Change) -> None:
        _, account, region, url, id_ = change.path
        assert change.value is not None
        self._messages[account, region, url][id_].update(json.loads(change.value))

    def _apply_token(self, change: Change) -> None:
        _, account, region, token = change.path
        assert change.value is not None
        entry = json.loads(change.value)
        if time.time() - entry["completed_at"] < dynamodb._TXN_TOKEN_TTL:
            entry["signature"] = Digest.of_text(entry["signature"])
            self._tokens[account, region, token] = entry


def _count_fifo_message(queue: Json, message: Json) -> None:
    """Let a queue recognize a message that is sent to it again."""
    queue["fifo_seq"] = max(queue["fifo_seq"], int(message["seq"]))
    queue["dedup_cache"][message["dedup_cache_key"]] = {
        "expire": message["sent_at"] + sqs._DEDUP_WINDOW_S,
        "id": message["id"],
        "md5": message["md5_body"],
        "md5a": message["md5_attrs"],
        "seq": message["seq"],
    }
