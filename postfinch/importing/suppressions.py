"""Store suppressions of an import under its id, and take them back by it.

Entries that are there already stay as they are. So what has the id of an import in its description
was created by it, and has not been changed since.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import quote

import idna

from postfinch.http_api import Api, ApiError
from postfinch.importing.kinds import put_suppressions
from postfinch.importing.model import page, patient
from postfinch.json_types import Json

Key = tuple[str, str, str]

_PATH = "/suppression-list"
_TYPES = "transactional,non_transactional"
_BULK = 1000
_PER_PAGE = 10_000
_ID = re.compile(r"\d{8}-[0-9a-f]{6}")
_FORBIDDEN, _NOT_FOUND = 403, 404


def new_id() -> str:
    """Return the id of an import: its day (UTC), and six hex digits."""
    return f"{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(3)}"


def is_id(text: str) -> bool:
    """Tell whether a text could be the id of an import."""
    return _ID.fullmatch(text) is not None


def mark_of(import_id: str) -> str:
    """Return what the descriptions of an import's entries contain."""
    return f"(import {import_id})"


def own_list(api: Api) -> Api:
    """Return the API for the list that the caller changes, without those of its subaccounts."""
    if api.subaccount is not None:
        return api
    primary = Api(api.url, api.key, 0)
    try:
        primary.get(f"{_PATH}/summary")
    except ApiError as error:
        if error.status == _FORBIDDEN:  # the key of a subaccount, which has one list only
            return api
        raise
    return primary


def store(api: Api, entries: Sequence[Json]) -> tuple[list[Json], int, list[str]]:
    """Store entries that are not there yet; return them, how many others, and refused addresses."""
    existing = set(map(_key, _entries(api))) if entries else set()
    new = [entry for entry in entries if _key(entry) not in existing]
    refusals: list[str] = []
    for first in range(0, len(new), _BULK):
        put_suppressions(api, new[first : first + _BULK], refusals)
    failures = set(refusals)
    additions = [entry for entry in new if entry["recipient"] not in failures]
    return additions, len(entries) - len(new), list(dict.fromkeys(refusals))


def of_import(api: Api, import_id: str) -> list[Json]:
    """Return the entries that an import created and nobody has changed since."""
    mark = mark_of(import_id)
    entries = _entries(api, description=mark)
    return [entry for entry in entries if mark in (entry.get("description") or "")]


def remove(api: Api, entries: Iterable[Json]) -> int:
    """Remove entries and return how many were there."""
    return sum(_remove(api, entry) for entry in entries)


def _remove(api: Api, entry: Json) -> bool:
    path = f"{_PATH}/{quote(entry['recipient'], safe='')}"
    # An empty list id means the entry for all lists
    query = {"list_id": entry.get("list_id") or ""}
    try:
        patient(lambda: api.delete(path, {"type": entry["type"]}, **query))
    except ApiError as error:
        if error.status != _NOT_FOUND:
            raise
        return False
    return True


def _entries(api: Api, **query: str) -> Iterator[Json]:
    following: Json = {"cursor": "initial", "per_page": _PER_PAGE, "types": _TYPES, **query}
    while following:
        results, following = page(api, _PATH, following)
        yield from results


def _key(entry: Json) -> Key:
    """Return what tells entries apart: the service keeps domains in A-labels."""
    local, _, domain = entry["recipient"].lower().rpartition("@")
    with suppress(idna.IDNAError):
        domain = idna.encode(domain, uts46=True).decode()
    return f"{local}@{domain}", entry["type"], entry.get("list_id") or ""
