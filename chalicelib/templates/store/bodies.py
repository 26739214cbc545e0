"""Keep the content of templates and the data of their previews, compressed, apart from the records.

Access patterns of ``config``:

- one content → ``template#<account>#<template id>`` / ``content#<token>``

Preview data is kept like content. What is too large for an item is the object
``templates/<account>/<token>`` of the bucket instead.
Content never changes: an edit stores it under a new reference, so a process may keep the content of
a reference for ever. It is not in the template's own item, so that a list reads no content.
"""

from __future__ import annotations

import json
import secrets
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from chalicelib.core import blobs, dynamo
from chalicelib.core.dynamo import Keyed, Table
from chalicelib.core.json_types import Json
from chalicelib.core.settings import settings
from chalicelib.template_language.cache import SizedCache

CACHED_CONTENTS = 1000
CACHED_BYTES = 16 * 1024 * 1024


class BodyItem(Keyed):
    """Content, or the data of previews."""

    #: Compressed JSON
    body: bytes


_config: Table[BodyItem] = Table("config")


class ContentGone(LookupError):
    """No content has this reference any more: the template was edited or deleted meanwhile."""


@dataclass(frozen=True, slots=True)
class Body:
    """Compressed content that a transaction is going to store."""

    ref: str
    data: bytes

    def writes(self, partition: str) -> list[dynamo.Write]:
        """Return the actions for the transaction that makes a template refer to the content."""
        if not self.ref.startswith("item/"):
            return []
        item: BodyItem = {"pk": partition, "sk": _item_key(self.ref), "body": self.data}
        return [dynamo.put(_config, item)]


def prepare(account_id: int, content: Json) -> Body:
    """Return content ready to be stored; content too large for an item is stored at once."""
    data = zlib.compress(json.dumps(content, ensure_ascii=False).encode())
    token = secrets.token_hex(12)
    if len(data) <= settings().item_inline_bytes:
        return Body(f"item/{token}", data)
    ref = f"templates/{account_id}/{token}"
    blobs.put(ref, data)
    return Body(ref, b"")


def removals(partition: str, refs: Iterable[str]) -> list[dynamo.Write]:
    """Return the actions for the transaction after which no template refers to ``refs``."""
    return [
        dynamo.delete(_config, partition, _item_key(ref)) for ref in refs if ref.startswith("item/")
    ]


def discard(refs: Iterable[str]) -> None:
    """Delete content from the bucket to which no template refers any more."""
    for ref in refs:
        if not ref.startswith("item/"):
            blobs.delete(ref)


def load(partition: str, ref: str) -> Json:
    """Return content, which the caller must not change; raises :class:`ContentGone`."""

    def read() -> Json:
        content: Json = json.loads(zlib.decompress(_read(partition, ref)))
        return content

    return _cache.get(ref, read)


def _read(partition: str, ref: str) -> bytes:
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


_cache: SizedCache[Json] = SizedCache(most=CACHED_CONTENTS, most_bytes=CACHED_BYTES)
