"""Show snippets as the API does (spec 2.4)."""

from __future__ import annotations

from chalicelib.core import clock
from chalicelib.core.json_types import Json
from chalicelib.snippets.model import Snippet


def snippet_view(snippet: Snippet) -> Json:
    """Return a snippet with its content, and the data of its previews where it has any."""
    view = _fields(snippet, "shared_with_subaccounts") | {"content": dict(snippet.content)}
    return view | ({"preview_data": dict(snippet.preview_data)} if snippet.preview_data else {})


def summary_view(snippet: Snippet) -> Json:
    """Return a snippet without its content, as lists show it."""
    return _fields(snippet, "shared_with_subaccount")


def _fields(snippet: Snippet, shared_key: str) -> Json:
    view: Json = {
        "id": snippet.id,
        "name": snippet.name,
        shared_key: snippet.shared,
        "created_at": clock.iso_ms(snippet.created_ms),
        "updated_at": clock.iso_ms(snippet.updated_ms),
    }
    if snippet.subaccount_id is not None:
        view["subaccount_id"] = snippet.subaccount_id
    return view
