"""Where the content of templates is kept: compressed, in an item of its own or in the bucket.

Access patterns (table ``config``):

- one content → ``pk = template#<account>#<template id>``, ``sk = content#<token>``; one that is
  large is the object ``templates/<account>/<token>`` of the bucket instead

Content is never changed: an edit stores it anew under another reference, so whatever was read
under one may be remembered for good. It is not in the template's own item, so that a list reads no
content.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from chalicelib.core import blobs, dynamo
from chalicelib.core.dynamo import Table
from chalicelib.core.settings import settings

Json = dict[str, Any]

REMEMBERED_BYTES = 32 * 1024 * 1024

_config = Table("config")


class ContentGone(LookupError):
    """Nothing is stored under the reference: the template was edited or deleted meanwhile."""


@dataclass(frozen=True, slots=True)
class Body:
    """Content on its way into the store."""

    ref: str
    data: bytes

    def writes(self, partition: str) -> list[dynamo.Write]:
        """Return what belongs into the transaction that makes a template refer to it."""
        if not self.ref.startswith("item/"):
            return []
        return [
            dynamo.put(_config, {"pk": partition, "sk": _item_key(self.ref), "body": self.data})
        ]


def prepare(account_id: int, content: Json) -> Body:
    """Return the stored form of content; what is too large for an item is stored already."""
    data = zlib.compress(json.dumps(content, ensure_ascii=False).encode())
    token = secrets.token_hex(12)
    if len(data) <= settings().item_inline_bytes:
        return Body(f"item/{token}", data)
    ref = f"templates/{account_id}/{token}"
    blobs.put(ref, data)
    return Body(ref, b"")


def removals(partition: str, refs: Iterable[str]) -> list[dynamo.Write]:
    """Return what belongs into the transaction after which no template refers to ``refs``."""
    return [
        dynamo.delete(_config, partition, _item_key(ref)) for ref in refs if ref.startswith("item/")
    ]


def discard(refs: Iterable[str]) -> None:
    """Delete from the bucket what no template refers to any more."""
    for ref in refs:
        if not ref.startswith("item/"):
            blobs.delete(ref)


def load(partition: str, ref: str) -> Json:
    """Return content, which the caller must not change; raises :class:`ContentGone`."""
    known = _recent.get(ref)
    if known is not None:
        return known
    text = zlib.decompress(_stored(partition, ref))
    content: Json = json.loads(text)
    _recent.add(ref, content, len(text))
    return content


def _stored(partition: str, ref: str) -> bytes:
    if ref.startswith("item/"):
        item = _config.get(partition, _item_key(ref))
        if item is None:
            raise ContentGone(ref)
        return item["body"]
    try:
        return blobs.get(ref)
    except blobs.BlobMissing:
        raise ContentGone(ref) from None


def _item_key(ref: str) -> str:
    return "content#" + ref.removeprefix("item/")


class _Recent:
    """Content used lately, as much of it as fits into ``REMEMBERED_BYTES``."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._contents: OrderedDict[str, tuple[Json, int]] = OrderedDict()
        self._bytes = 0

    def get(self, ref: str) -> Json | None:
        with self._lock:
            if ref not in self._contents:
                return None
            self._contents.move_to_end(ref)
            return self._contents[ref][0]

    def add(self, ref: str, content: Json, size: int) -> None:
        with self._lock:
            if ref not in self._contents:
                self._contents[ref] = content, size
                self._bytes += size
            while self._bytes > REMEMBERED_BYTES:
                _, (_, gone) = self._contents.popitem(last=False)
                self._bytes -= gone


_recent = _Recent()
