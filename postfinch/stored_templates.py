"""Read and change the templates and snippets of an account."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote

from postfinch.http_api import Api, ApiError
from postfinch.json_types import Json
from postfinch.template_files import PREVIEW_DATA, Item, Kind, from_api

Action = Literal["create", "update", "publish", "delete", "unchanged"]

_PATHS: dict[Kind, str] = {"template": "/templates", "snippet": "/api/labs/snippets"}


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be done with one item; ``changes`` names the fields and parts that differ."""

    action: Action
    item: Item
    changes: list[str] = field(default_factory=list)
    publishes: bool = False


def own_ids(api: Api, kind: Kind) -> Iterator[str]:
    """Yield the ids of the items that the caller owns, without those that others share."""
    subaccount = _subaccount(api)
    for view in api.get(_PATHS[kind]):
        if view.get("subaccount_id") == subaccount:
            yield view["id"]


def fetch(api: Api, kind: Kind, item_id: str, *, draft: bool = True) -> Item:
    """Return one item; of a template the draft, or the published version."""
    query = {"draft": "true" if draft else "false"} if kind == "template" else {}
    return from_api(kind, api.get(_path(kind, item_id), **query))


def errors_of(api: Api, item: Item) -> list[Json]:
    """Return the errors that storing an item's content would meet."""
    body = {"content": item.content, "snippet": item.kind == "snippet"}
    return list(api.post("/utils/content-validator", body)["errors"])


def plan(api: Api, items: list[Item], *, publish: bool, delete: bool) -> list[Change]:
    """Return what makes the account's drafts equal to ``items``; snippets come first.

    ``publish`` also publishes each template that does not say that it is not published. ``delete``
    deletes what is not among the items.
    """
    changes: list[Change] = []
    removals: list[Change] = []
    for kind in _PATHS:
        local = {item.id: item for item in items if item.kind == kind}
        remote_ids = set(own_ids(api, kind))
        planned = [
            _change(api, item, item_id in remote_ids, publish=publish)
            for item_id, item in local.items()
        ]
        changes = planned + changes
        if delete:
            gone_ids = sorted(remote_ids - set(local))
            removals += [Change("delete", Item(kind, each, {}, {})) for each in gone_ids]
    return changes + removals


def apply(api: Api, change: Change) -> None:
    """Make a change; raises ApiError."""
    item = change.item
    if change.action == "delete":
        api.delete(_path(item.kind, item.id))
    elif change.action == "create":
        published = {"published": True} if change.publishes else {}
        body = {"id": item.id, **_settings(item), "content": item.content, **published}
        api.post(_PATHS[item.kind], body)
    elif change.action == "update":
        api.put(_path(item.kind, item.id), _update(item, change))
    elif change.action == "publish":
        api.put(_path(item.kind, item.id), {"published": True})


def _change(api: Api, item: Item, exists: bool, *, publish: bool) -> Change:
    publishes = publish and item.kind == "template" and item.published is not False
    if not exists:
        return Change("create", item, publishes=publishes)
    remote = fetch(api, item.kind, item.id)
    changes = item.changes_from(remote)
    if changes == [PREVIEW_DATA]:  # which is of no version
        publishes = publishes and _differs_from_published(api, remote)
    if changes:
        return Change("update", item, changes, publishes)
    if publishes and _differs_from_published(api, remote):
        return Change("publish", item, publishes=True)
    return Change("unchanged", item)


def _differs_from_published(api: Api, draft: Item) -> bool:
    if not draft.published:
        return True
    return bool(draft.changes_from(fetch(api, draft.kind, draft.id, draft=False)))


def _update(item: Item, change: Change) -> Json:
    """Return the body that changes an item: all of a template's content, or a snippet's parts."""
    body = {name: item.settings[name] for name in change.changes if name in item.settings}
    if "options" in body:  # options that are absent keep their value, and null removes them
        names = ("open_tracking", "click_tracking", "transactional", "initial_open", "inline_css")
        body["options"] = dict.fromkeys(names) | body["options"]
    parts = [name for name in change.changes if name not in item.settings]
    if item.kind == "snippet" and parts:
        body["content"] = {name: item.content.get(name, "") for name in parts}
    elif parts:
        body["content"] = item.content
    return body | ({"published": True} if change.publishes else {})


def _settings(item: Item) -> Json:
    """Return the fields of a new item; a subaccount may not set that nothing is shared."""
    return {name: value for name, value in item.settings.items() if value not in (False, "", {})}


def _path(kind: Kind, item_id: str) -> str:
    return f"{_PATHS[kind]}/{quote(item_id, safe='')}"


def _subaccount(api: Api) -> int | None:
    """Return the subaccount that is acted for: the one of the profile, or of the key."""
    if api.subaccount is not None:
        return api.subaccount or None
    try:
        key: Json = api.get("/api-keys/current")
    except ApiError:  # the key may do other things
        return None
    return key.get("subaccount_id")
