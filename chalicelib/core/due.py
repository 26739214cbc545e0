"""What is due at a time, for everything that runs on a clock.

Each concern (due transmissions, re-verification, ...) has one partition in order of time, so asking
for what is due costs one request when nothing is, whatever exists. An entry stays until it is
removed by whoever has done its work: work that is interrupted is due again at the next tick, so it
must be safe to repeat.

Access patterns (table ``config``):

- what is due of a concern → ``pk = due#<concern>``, ``sk = <milliseconds>#<key>``
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from chalicelib.core.dynamo import Item, Table, Write, put

_config = Table("config")


@dataclass(frozen=True, slots=True)
class Due:
    """Something to do at ``at_ms``. ``key`` names it within its concern; ``data`` is JSON."""

    concern: str
    at_ms: int
    key: str
    data: dict[str, Any] = field(default_factory=dict)


def add(entry: Due) -> None:
    """Note that ``entry`` is due at its time; noting it again changes nothing."""
    _config.put(_item(entry))


def addition(entry: Due) -> Write:
    """Return the action that notes ``entry`` as part of a transaction."""
    return put(_config, _item(entry))


def remove(entry: Due) -> None:
    """Forget ``entry``: its work is done, or not wanted any more."""
    _config.delete(_pk(entry.concern), _sk(entry))


def find(concern: str, now_ms: int, *, limit: int = 100) -> list[Due]:
    """Return what is due of ``concern``, the longest due first."""
    page = _config.query(
        "#pk = :pk AND #sk < :now",
        {"pk": _pk(concern), "now": f"{now_ms + 1:013d}"},
        limit=limit,
    )
    return [_entry(concern, item) for item in page.items]


def _item(entry: Due) -> Item:
    return {"pk": _pk(entry.concern), "sk": _sk(entry), "data": entry.data}


def _entry(concern: str, item: Item) -> Due:
    at, _, key = item["sk"].partition("#")
    return Due(concern, int(at), key, item["data"])


def _pk(concern: str) -> str:
    return f"due#{concern}"


def _sk(entry: Due) -> str:
    return f"{entry.at_ms:013d}#{entry.key}"
