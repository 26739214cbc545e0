"""Store the state of traffic shaping, which all delivery processes and machines share.

A *path* is a group and a source address: ``<group>|<address>``. The address is empty where the host
chooses it. Rates that count for all addresses together have the pace of the path without one.

Access patterns of ``messages``:

- the pace of a path → ``pace#<path>`` / ``pace``
- the paths that are paused or slowed down → ``shaping`` / ``pause#<path>``
- the paths with mail that is held back → ``shaping`` / ``held#<path>``
- the work units of a path that are held back → ``held#<path>`` / ``<account>#<unit>``

Access patterns of ``config``:

- the operator's limits of all groups → ``provider-limits`` / ``all`` (cached for
  ``KEY_CACHE_SECONDS``, even if there are none)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, NotRequired

from chalicelib.core import caches, clock, config_cache, dynamo
from chalicelib.core.dynamo import ConditionFailed, ItemT, Keyed, Table
from chalicelib.core.settings import settings
from chalicelib.delivery.shaping.pacing import Pace, Shares
from chalicelib.delivery.shaping.providers import Limits


class PaceItem(Keyed):
    """The pace of a path: the fields of ``pacing.Pace``."""

    next_ms: float
    #: Version 0.1.0 did not write it
    interval_ms: NotRequired[float]
    shares: Shares
    revision: int
    expires: int


class PauseItem(Keyed):
    """A path that is paused or slowed down: the fields of ``Pause``."""

    path: str
    until_ms: int
    failures: int
    answers: list[str]
    expires: int


class HeldPathItem(Keyed):
    """A path with mail that is held back."""

    path: str
    expires: int


class BacklogItem(Keyed):
    """The messages of a work unit that are held back: the fields of ``Backlog``."""

    account: str
    unit: str
    messages: int
    since_ms: int
    reason: str
    is_small: NotRequired[bool]
    expires: int


class ProviderLimitsItem(Keyed):
    """The operator's limits by group, each with the fields of ``providers.Limits``."""

    limits: dict[str, dict[str, Any]]
    revision: int


_paces: Table[PaceItem] = Table("messages")
_pauses: Table[PauseItem] = Table("messages")
_held_paths: Table[HeldPathItem] = Table("messages")
_backlogs: Table[BacklogItem] = Table("messages")
_config: Table[ProviderLimitsItem] = Table("config")

_OVERRIDES = ("provider-limits", "all")
_PATHS = "shaping"
_listed_until: dict[str, int] = {}
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Pause:
    """A path that is paused until ``until_ms``, and slowed down for an hour after it.

    ``failures`` counts the refusals for which it was paused, ``answers`` holds the last ones.
    """

    path: str
    until_ms: int
    failures: int
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Backlog:
    """Messages of one account that are held back in a work unit; they exist since ``since_ms``.

    ``is_small`` says that they are all recipients of their transmission.
    """

    account: str
    unit: str
    messages: int
    since_ms: int
    reason: str
    is_small: bool = False


@caches.register
def forget() -> None:
    """Forget which paths this process has listed."""
    _listed_until.clear()


def path_of(group: str, source_address: str | None) -> str:
    """Return the path of a group and a source address."""
    return f"{group}|{source_address or ''}"


def group_of_path(path: str) -> tuple[str, str]:
    """Return the group and the source address of a path."""
    group, _, address = path.partition("|")
    return group, address


def pace_of(path: str) -> Pace:
    """Return the pace of a path as it is now."""
    return _pace_from(_paces.get(f"pace#{path}", "pace", consistent=True))


def replace_pace(path: str, before: Pace, after: Pace) -> Pace | None:
    """Store a pace; return ``None``, or the one in force if another process was faster."""
    item: PaceItem = {
        "pk": f"pace#{path}",
        "sk": "pace",
        "next_ms": after.next_ms,
        "interval_ms": after.interval_ms,
        "shares": after.shares,
        "revision": before.revision + 1,
        "expires": int(clock.now()) + _DAY,
    }
    try:
        _paces.put(item, **dynamo.if_unchanged("revision", before.revision or None))
    except ConditionFailed as failure:
        return _pace_from(failure.item)
    return None


def _pace_from(item: PaceItem | None) -> Pace:
    if not item:
        return Pace()
    return Pace(
        float(item["next_ms"]),
        item["shares"],
        int(item["revision"]),
        float(item.get("interval_ms", 0)),
    )


def put_pause(pause: Pause) -> bool:
    """Store a pause; return ``False`` if another process has stored a longer one meanwhile."""
    item: PauseItem = {
        "pk": _PATHS,
        "sk": f"pause#{pause.path}",
        "path": pause.path,
        "until_ms": pause.until_ms,
        "failures": pause.failures,
        "answers": list(pause.answers),
        "expires": pause.until_ms // 1000 + _DAY,
    }
    condition = "attribute_not_exists(#until_ms) OR #until_ms <= :until"
    try:
        _pauses.put(item, condition=condition, values={"until": pause.until_ms})
    except ConditionFailed:
        return False
    return True


def pauses() -> dict[str, Pause]:
    """Return the pauses of the last day by path; most are over."""
    return {
        item["path"]: Pause(
            item["path"], int(item["until_ms"]), int(item["failures"]), tuple(item["answers"])
        )
        for item in _items_of(_pauses, _PATHS, "pause#")
    }


def hold(path: str, backlog: Backlog) -> None:
    """Remember that messages of a unit are held back."""
    expires = int(clock.now() + settings().retry_expiry) + _DAY
    if expires > _listed_until.get(path, 0):
        _held_paths.put({"pk": _PATHS, "sk": f"held#{path}", "path": path, "expires": expires})
        # For an hour this process does not do so again
        _listed_until[path] = expires + 3_600
    _backlogs.put(
        {
            "pk": f"held#{path}",
            "sk": f"{backlog.account}#{backlog.unit}",
            "account": backlog.account,
            "unit": backlog.unit,
            "messages": backlog.messages,
            "since_ms": backlog.since_ms,
            "reason": backlog.reason,
            "is_small": backlog.is_small,
            "expires": expires,
        }
    )


def release(path: str, account: str, unit: str) -> None:
    """Forget that messages of a unit are held back."""
    _backlogs.delete(f"held#{path}", f"{account}#{unit}")


def held_paths() -> list[str]:
    """Return the paths with mail that was held back in the last day."""
    return [item["path"] for item in _items_of(_held_paths, _PATHS, "held#")]


def backlogs_of(path: str, account: str = "") -> list[Backlog]:
    """Return what is held back of a path, of one account or of all."""
    prefix = f"{account}#" if account else ""
    return [
        Backlog(
            item["account"],
            item["unit"],
            int(item["messages"]),
            int(item["since_ms"]),
            item["reason"],
            item.get("is_small", False),
        )
        for item in _items_of(_backlogs, f"held#{path}", prefix)
    ]


def _items_of(table: Table[ItemT], pk: str, prefix: str) -> Iterable[ItemT]:
    now = clock.now()
    if prefix:
        condition = "#pk = :pk AND begins_with(#sk, :prefix)"
        items = table.query_all(condition, {"pk": pk, "prefix": prefix}, consistent=True)
    else:
        items = table.query_all("#pk = :pk", {"pk": pk}, consistent=True)
    return [item for item in items if item["expires"] > now]


@dataclass(frozen=True, slots=True)
class Overrides:
    """The operator's limits by group."""

    limits: dict[str, Limits]
    revision: int = 0


def cached_overrides() -> dict[str, Limits]:
    """Return the operator's limits by group, from the cache."""
    return _overrides_from(config_cache.read_one(_OVERRIDES)).limits


def change_overrides(edit: Callable[[dict[str, Limits]], dict[str, Limits]]) -> dict[str, Limits]:
    """Change the operator's limits by ``edit`` and return them."""

    def next_revision(before: Overrides) -> Overrides:
        return Overrides(edit(before.limits), before.revision + 1)

    overrides = dynamo.update_record(
        lambda: _overrides_from(_config.get(*_OVERRIDES, consistent=True)),
        next_revision,
        _replace_overrides,
    )
    config_cache.forget(_OVERRIDES)
    return overrides.limits if overrides else {}


def _replace_overrides(before: Overrides, after: Overrides) -> None:
    pk, sk = _OVERRIDES
    limits = {group: asdict(each) for group, each in after.limits.items()}
    item: ProviderLimitsItem = {"pk": pk, "sk": sk, "limits": limits, "revision": after.revision}
    _config.put(item, **dynamo.if_unchanged("revision", before.revision or None))


def _overrides_from(item: ProviderLimitsItem | None) -> Overrides:
    if not item:
        return Overrides({})
    limits = {group: Limits(**each) for group, each in item["limits"].items()}
    return Overrides(limits, int(item["revision"]))
