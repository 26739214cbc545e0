"""Schedule work for a later time, and find the work that is due.

Each concern (due transmissions, domain checks, ...) has one partition in order of time, so looking
for due work costs one request when nothing is due, however much is scheduled. An entry stays until
its work is done and it is removed. Interrupted work is due again at the next tick, so it must be
safe to repeat. Work that fails is postponed, each time for longer, so that it does not hold up the
rest.

Access patterns of ``config``:

- the due entries of a concern → ``due#<concern>`` / ``<ms>#<key>`` (the time of the next attempt)
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import Any, Final, NotRequired

from chalicelib.core import dynamo
from chalicelib.core.dynamo import Keyed, Table, TransactionFailed, Write, put
from chalicelib.core.retry import Backoff

LONGEST_PAUSE_MS: Final = 3_600_000

_BACKOFF = Backoff(base_seconds=1, cap_seconds=LONGEST_PAUSE_MS / 1000)


class DueItem(Keyed):
    """Something to do; the sort key begins with the time of the next attempt."""

    data: dict[str, Any]
    #: When it was due first, in ms, if its work has failed since
    at_ms: NotRequired[int]
    failures: NotRequired[int]


_config: Table[DueItem] = Table("config")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Due:
    """Something to do at ``at_ms``. ``key`` names it within its concern; ``data`` is JSON.

    When its work has failed ``failures`` times, it waits until ``postponed_ms``.
    """

    concern: str
    at_ms: int
    key: str
    data: dict[str, Any] = field(default_factory=dict)
    failures: int = 0
    postponed_ms: int = 0


def add(entry: Due) -> None:
    """Schedule ``entry``; scheduling it again changes nothing."""
    _config.put(_item(entry))


def addition(entry: Due) -> Write:
    """Return the action that schedules ``entry`` in a transaction."""
    return put(_config, _item(entry))


def remove(entry: Due) -> None:
    """Remove ``entry``: its work is done or no longer needed."""
    _config.delete(_pk(entry.concern), _sk(entry))


def postpone(entry: Due, now_ms: int) -> None:
    """Postpone an entry whose work failed: by a second at first, then twice as long each time.

    The longest pause is an hour. ``at_ms`` stays. Nothing is raised: if this fails as well, or
    another process has done or postponed the work, the entry stays as it is.
    """
    failures = entry.failures + 1
    pause_ms = int(_BACKOFF.delay(failures) * 1000)
    later = replace(entry, failures=failures, postponed_ms=now_ms + pause_ms)
    removal = dynamo.delete(
        _config, _pk(entry.concern), _sk(entry), condition="attribute_exists(#pk)"
    )
    try:
        dynamo.transact([removal, addition(later)])
    except TransactionFailed:
        return
    except Exception:
        _log.exception("%s of %s is not postponed", entry.key, entry.concern)


def find(concern: str, now_ms: int, *, limit: int = 100) -> list[Due]:
    """Return the entries of ``concern`` that are due, the longest due first."""
    page = _config.query(
        "#pk = :pk AND #sk BETWEEN :first AND :end",
        {"pk": _pk(concern), "first": "0", "end": f"{now_ms + 1:013d}"},
        limit=limit,
    )
    return [_entry(concern, item) for item in page.items]


def _item(entry: Due) -> DueItem:
    item: DueItem = {"pk": _pk(entry.concern), "sk": _sk(entry), "data": entry.data}
    if entry.failures:
        item |= {"at_ms": entry.at_ms, "failures": entry.failures}
    return item


def _entry(concern: str, item: DueItem) -> Due:
    at, _, key = item["sk"].partition("#")
    if "failures" not in item:
        return Due(concern, int(at), key, item["data"])
    return Due(concern, item["at_ms"], key, item["data"], item["failures"], int(at))


def _pk(concern: str) -> str:
    return f"due#{concern}"


def _sk(entry: Due) -> str:
    return f"{entry.postponed_ms or entry.at_ms:013d}#{entry.key}"
