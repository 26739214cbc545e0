"""Store the validations of recipient lists: the last one of each list, with its results.

Access patterns of ``config``:

- the last validation of a list → ``recipient_validation#<account>#<list id>`` / ``job``
- the results of a validation, in the order of the list, if they are needed for a copy →
  ``recipient_validation#<account>#<list id>`` / ``results#<validation>#<position>``
- the validations that are under way → ``due#recipient-validation`` / ``<ms>#<validation>``

A validation goes forward step by step. A step is written on the condition that the one before it
was the last, so that two processes never count a recipient twice. Everything expires after 30 days.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from chalicelib.core import audit, clock, due, dynamo
from chalicelib.core.due import Due
from chalicelib.core.dynamo import Keyed, Table
from chalicelib.recipient_validation.job import (
    RUNNING,
    ValidationJob,
    from_letters,
    shown_fields,
    to_letters,
)

CONCERN: Final = "recipient-validation"
_KEPT_SECONDS: Final = 30 * 86_400
_DIGITS: Final = 7


class ValidationItem(Keyed):
    """The validation of a list: the fields of ``ValidationJob``."""

    account_id: int
    list_id: str
    id: str
    version: str
    total: int
    parts: int
    status: str
    position: int
    #: JSON
    counts: str
    copy_id: str
    copy_name: str
    keep: list[str]
    copied: int | None
    problem: str
    started: int
    ended: int
    expires: int


class ResultsItem(Keyed):
    """The results of one step."""

    #: One letter for each recipient
    results: str
    expires: int


_config: Table[ValidationItem] = Table("config")
_results: Table[ResultsItem] = Table("config")


def get(account_id: int, list_id: str) -> ValidationJob | None:
    """Return the last validation of a list, or ``None``."""
    item = _config.get(_partition(account_id, list_id), "job")
    return _from_item(item) if item else None


def create(job: ValidationJob, entry: Due) -> bool:
    """Store a new validation in place of the last one; ``False`` while that is running."""
    record = dynamo.put(
        _config,
        _to_item(job),
        condition="attribute_not_exists(#pk) OR #status <> :running",
        values={"running": RUNNING},
    )
    line = audit.line(job.list_id, None, shown_fields(job))
    return dynamo.try_transact([record, due.addition(entry), *line])


def advance(old: ValidationJob, new: ValidationJob, results: list[str]) -> bool:
    """Write a step; ``False`` if another process has written it, or replaced the validation."""
    writes = [
        dynamo.put(
            _config,
            _to_item(new),
            condition="#id = :id AND #position = :position AND #status = :running",
            values={"id": old.id, "position": old.position, "running": RUNNING},
        )
    ]
    if results and new.copy_id:
        item: ResultsItem = {
            "pk": _partition(new.account_id, new.list_id),
            "sk": f"{_prefix(new)}{old.position:0{_DIGITS}d}",
            "results": to_letters(results),
            "expires": _expiry(),
        }
        writes.append(dynamo.put(_results, item))
    return dynamo.try_transact(writes)


def results_of(job: ValidationJob) -> Iterator[str]:
    """Yield the result of each recipient, in the order of the list."""
    items = _results.query_all(
        "#pk = :pk AND begins_with(#sk, :prefix)",
        {"pk": _partition(job.account_id, job.list_id), "prefix": _prefix(job)},
        consistent=True,
    )
    for item in items:
        yield from from_letters(item["results"])


def _partition(account_id: int, list_id: str) -> str:
    return f"recipient_validation#{account_id}#{list_id}"


def _prefix(job: ValidationJob) -> str:
    return f"results#{job.id}#"


def _expiry() -> int:
    return int(clock.now()) + _KEPT_SECONDS


def _to_item(job: ValidationJob) -> ValidationItem:
    return {
        "pk": _partition(job.account_id, job.list_id),
        "sk": "job",
        "account_id": job.account_id,
        "list_id": job.list_id,
        "id": job.id,
        "version": job.version,
        "total": job.total,
        "parts": job.parts,
        "status": job.status,
        "position": job.position,
        "counts": json.dumps(dict(job.counts)),
        "copy_id": job.copy_id,
        "copy_name": job.copy_name,
        "keep": list(job.keep),
        "copied": job.copied,
        "problem": job.problem,
        "started": job.started_ms,
        "ended": job.ended_ms,
        "expires": _expiry(),
    }


def _from_item(item: ValidationItem) -> ValidationJob:
    return ValidationJob(
        account_id=item["account_id"],
        list_id=item["list_id"],
        id=item["id"],
        version=item["version"],
        total=item["total"],
        parts=item["parts"],
        status=item["status"],
        position=item["position"],
        counts=json.loads(item["counts"]),
        copy_id=item["copy_id"],
        copy_name=item["copy_name"],
        keep=tuple(item["keep"]),
        copied=item["copied"],
        problem=item["problem"],
        started_ms=item["started"],
        ended_ms=item["ended"],
    )
