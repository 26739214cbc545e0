"""Where snippets are kept.

Access patterns (table ``config``; ``<sub>`` is the subaccount, 0 for the primary account):

- one snippet of one owner → ``pk = snippet#<account>#<snippet id>``, ``sk = snippet#<sub>``
- what is shown and asked of it without its content → the same ``pk``, ``sk = summary#<sub>``
- snippets of that id anywhere in the account → ``sk`` begins with ``summary#``
- snippets of an account → index ``by_owner``: ``owner = account#<id>/snippets``, of summaries
- those of one owner, or those it shares → ``owner_key`` begins with ``<sub>/`` or ``<sub>/s/``

Both items are written in one transaction, conditional on the revision that a change was made from.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING

from chalicelib.core import dynamo
from chalicelib.core.dynamo import Item, Table
from chalicelib.core.errors import Unavailable
from chalicelib.core.owned_records import OwnedRecords, is_id
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.snippets.model import Snippet

if TYPE_CHECKING:
    from chalicelib.template_language import SnippetSource

_config = Table("config")

_ATTEMPTS = 50
_REMEMBERED = 64


def create(snippet: Snippet) -> bool:
    """Store a new snippet; return ``False`` if its owner has one with this id."""
    return _written(snippet, "attribute_not_exists(#pk)", {})


def find(scope: Scope, snippet_id: str) -> Snippet | None:
    """Return the snippet that the id means to a reader in ``scope``, with its content."""
    summary = _summaries.find(scope, snippet_id)
    return get(summary.account_id, summary.subaccount_id, snippet_id) if summary else None


def update(owner: Scope, snippet_id: str, change: Callable[[Snippet], Snippet]) -> bool:
    """Let ``change`` make a new record of the present one, until nobody came between.

    Returns ``False`` if the owner has no such snippet. What ``change`` raises passes through.
    """
    for _ in range(_ATTEMPTS):
        old = get(owner.account_id, owner.owner, snippet_id)
        if old is None:
            return False
        new = change(old)
        if new == old or _written(new, "#revision = :old", {"old": old.revision}):
            return True
    raise Unavailable


def delete(owner: Scope, snippet_id: str) -> bool:
    """Delete a snippet; return ``False`` if the owner has none with this id."""
    if not is_id(snippet_id):
        return False
    place = owner.account_id, owner.owner, snippet_id
    record = dynamo.delete(_config, *_snippets.key(*place), condition="attribute_exists(#pk)")
    return dynamo.transacted([record, dynamo.delete(_config, *_summaries.key(*place))])


def source(account_id: int, subaccount_id: int | None) -> SnippetSource:
    """Return what finds snippets for a sender while it generates one chunk or one preview.

    Each snippet is asked for once, so that all messages of a chunk hold the same; content that
    this process has seen in its present revision is not read again.
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


@lru_cache(maxsize=_REMEMBERED)
def _content_of(
    account_id: int, subaccount_id: int | None, snippet_id: str, revision: str
) -> Mapping[str, str]:
    """Return the content; it was changed if the revision is not the one asked for any more."""
    snippet = get(account_id, subaccount_id, snippet_id)
    if snippet is None:
        raise LookupError(snippet_id)
    return snippet.content


def _written(snippet: Snippet, condition: str, values: Mapping[str, str]) -> bool:
    fields = asdict(snippet)
    text = json.dumps(fields.pop("content"), ensure_ascii=False).encode()
    pk, sk = _snippets.key(snippet.account_id, snippet.subaccount_id, snippet.id)
    record = fields | {"pk": pk, "sk": sk, "body": zlib.compress(text)}
    summary = fields | _summaries.keys_of(snippet)
    return dynamo.transacted(
        [
            dynamo.put(_config, record, condition=condition, values=values),
            dynamo.put(_config, summary),
        ]
    )


def _from_item(item: Item) -> Snippet:
    return Snippet(
        account_id=item["account_id"],
        subaccount_id=item["subaccount_id"],
        id=item["id"],
        name=item["name"],
        shared=item["shared"],
        content=json.loads(zlib.decompress(item["body"])) if "body" in item else {},
        created_ms=item["created_ms"],
        updated_ms=item["updated_ms"],
        revision=item["revision"],
    )


_snippets = OwnedRecords("snippet", "snippet", _from_item)
_summaries = OwnedRecords("snippet", "summary", _from_item)

get = _snippets.get
in_scope = _summaries.in_scope
