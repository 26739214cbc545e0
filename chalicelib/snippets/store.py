"""Keep snippets, each with its content and preview data, and as a summary without them.

Access patterns of ``config``:

- one snippet of one owner → ``snippet#<account>#<snippet id>`` / ``snippet#<owner>``
- the summary of one snippet of one owner → ``snippet#<account>#<snippet id>`` / ``summary#<owner>``
- summaries of that id of all owners → ``snippet#<account>#<snippet id>`` / ``summary#*``
- summaries of an account → ``account#<account>/snippets`` [by_owner]
- summaries of one owner → ``account#<account>/snippets`` / ``<owner>/*`` [by_owner]
- summaries that an owner shares → ``account#<account>/snippets`` / ``<owner>/s/*`` [by_owner]

Both items are written in one transaction, conditional on the revision that a change started from.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NotRequired, cast

from chalicelib.core import audit, dynamo
from chalicelib.core.dynamo import Key, Keyed, Table, Write
from chalicelib.core.owned_records import OwnedRecords
from chalicelib.core.owner_keys import OwnedKeys
from chalicelib.core.resource_ids import is_id
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.snippets.model import Snippet, shown_fields

if TYPE_CHECKING:
    from chalicelib.template_language import SnippetSource


class SnippetFields(Keyed):
    """The fields of a ``Snippet`` that its summary has too."""

    account_id: int
    subaccount_id: int | None
    id: str
    name: str
    shared: bool
    created_ms: int
    updated_ms: int
    revision: str


class SnippetItem(SnippetFields):
    """A snippet with its content."""

    #: The content, as compressed JSON
    body: bytes
    #: The data of its previews, as compressed JSON
    preview: NotRequired[bytes]


class SnippetSummaryItem(SnippetFields, OwnedKeys):
    """A snippet without its content."""


_config: Table[SnippetItem] = Table("config")
_summary_table: Table[SnippetSummaryItem] = Table("config")

_CACHED = 64


def create(snippet: Snippet) -> bool:
    """Store a new snippet; return ``False`` if its owner has one with this id."""
    line = audit.line(snippet.id, None, shown_fields(snippet))
    return dynamo.try_transact([*_writes(snippet, condition="attribute_not_exists(#pk)"), *line])


def find(scope: Scope, snippet_id: str) -> Snippet | None:
    """Return the snippet of this id that a reader in ``scope`` sees, with its content."""
    summary = _summaries.find(scope, snippet_id)
    return get(summary.account_id, summary.subaccount_id, snippet_id) if summary else None


def update(owner: Scope, snippet_id: str, edit: Callable[[Snippet], Snippet]) -> bool:
    """Replace a snippet by what ``edit`` makes of it; no edit made at the same time is lost.

    Returns ``False`` if the owner has no such snippet. What ``edit`` raises passes through.
    """
    new = dynamo.update_record(
        lambda: get(owner.account_id, owner.owner, snippet_id),
        edit,
        _replace,
    )
    return new is not None


def delete(owner: Scope, snippet_id: str) -> bool:
    """Delete a snippet; return ``False`` if the owner has none with this id."""
    if not is_id(snippet_id):
        return False
    key = owner.account_id, owner.owner, snippet_id
    record = dynamo.delete(_config, *_snippets.key(*key), condition="attribute_exists(#pk)")
    summary = dynamo.delete(_summary_table, *_summaries.key(*key))
    return dynamo.try_transact([record, summary, *audit.line(snippet_id, None, None)])


def source(account_id: int, subaccount_id: int | None) -> SnippetSource:
    """Return a function that finds a sender's snippets for one chunk or one preview.

    It reads each snippet once, so that all messages of a chunk have the same; content that this
    process has read in its present revision is not read again.
    """
    scope = Scope(account_id, subaccount_id or PRIMARY)
    seen: dict[str, Mapping[str, str] | None] = {}

    def content_of(snippet_id: str) -> Mapping[str, str] | None:
        if snippet_id not in seen:
            summary = _summaries.find(scope, snippet_id)
            seen[snippet_id] = _content(summary) if summary else None
        return seen[snippet_id]

    return content_of


def _content(summary: Snippet) -> Mapping[str, str] | None:
    try:
        return _content_of(summary.account_id, summary.subaccount_id, summary.id, summary.revision)
    except LookupError:
        return None


@lru_cache(maxsize=_CACHED)
def _content_of(
    account_id: int, subaccount_id: int | None, snippet_id: str, revision: str
) -> Mapping[str, str]:
    """Return the content, which the cache keeps under the ``revision`` of the summary."""
    snippet = get(account_id, subaccount_id, snippet_id)
    if snippet is None:
        raise LookupError(snippet_id)
    return snippet.content


def _replace(old: Snippet, new: Snippet) -> None:
    line = audit.line(new.id, shown_fields(old), shown_fields(new))
    dynamo.transact([*_writes(new, **dynamo.if_unchanged("revision", old.revision)), *line])


def _writes(snippet: Snippet, **conditions: Any) -> list[Write]:
    fields = _fields(snippet, _snippets.key(snippet.account_id, snippet.subaccount_id, snippet.id))
    record = cast(SnippetItem, {**fields, "body": _pack(snippet.content)})
    if snippet.preview_data:
        record["preview"] = _pack(snippet.preview_data)
    keys = _summaries.keys_of(snippet)
    summary: SnippetSummaryItem = {**_fields(snippet, (keys["pk"], keys["sk"])), **keys}
    return [dynamo.put(_config, record, **conditions), dynamo.put(_summary_table, summary)]


def _fields(snippet: Snippet, key: Key) -> SnippetFields:
    pk, sk = key
    return {
        "pk": pk,
        "sk": sk,
        "account_id": snippet.account_id,
        "subaccount_id": snippet.subaccount_id,
        "id": snippet.id,
        "name": snippet.name,
        "shared": snippet.shared,
        "created_ms": snippet.created_ms,
        "updated_ms": snippet.updated_ms,
        "revision": snippet.revision,
    }


def _from_item(item: SnippetItem) -> Snippet:
    return _snippet(item, _unpack(item["body"]), _unpack(item.get("preview")))


def _from_summary(item: SnippetSummaryItem) -> Snippet:
    return _snippet(item, {}, {})


def _snippet(
    item: SnippetFields, content: Mapping[str, str], preview_data: Mapping[str, Any]
) -> Snippet:
    return Snippet(
        account_id=item["account_id"],
        subaccount_id=item["subaccount_id"],
        id=item["id"],
        name=item["name"],
        shared=item["shared"],
        content=content,
        created_ms=item["created_ms"],
        updated_ms=item["updated_ms"],
        revision=item["revision"],
        preview_data=preview_data,
    )


def _pack(value: Mapping[str, Any]) -> bytes:
    return zlib.compress(json.dumps(value, ensure_ascii=False).encode())


def _unpack(data: bytes | None) -> dict[str, Any]:
    return json.loads(zlib.decompress(data)) if data else {}


_snippets = OwnedRecords("snippet", "snippet", _from_item)
_summaries = OwnedRecords("snippet", "summary", _from_summary)

get = _snippets.get
in_scope = _summaries.in_scope
