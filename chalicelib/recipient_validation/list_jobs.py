"""Validate recipient lists, step by step, and copy the good recipients to a new list.

The work begins within the request, for as long as a caller can wait, and goes on at the ticks of a
schedule. A job is due until it has ended, so whoever is interrupted is followed by the next tick,
which goes on behind the last step that was written.

A list that is changed meanwhile is not checked any further: the job fails and says so.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Final

from chalicelib.core import audit, clock, due
from chalicelib.core.blobs import BlobMissing
from chalicelib.core.due import Due
from chalicelib.core.errors import recipient_list_exists, resource_conflict
from chalicelib.recipient_lists import service as list_service
from chalicelib.recipient_lists.model import PART_RECIPIENTS, RecipientList
from chalicelib.recipient_lists.store import contents, lists
from chalicelib.recipient_lists.store.contents import ListVersion
from chalicelib.recipient_lists.stored_form import StoredRecipient, encode
from chalicelib.recipient_validation import service, store
from chalicelib.recipient_validation.job import COMPLETED, FAILED, NONE, STEP, ValidationJob
from chalicelib.recipient_validation.request import CopyRequest

AT_ONCE_SECONDS: Final = 5.0
A_TICK_SECONDS: Final = 40.0
#: After so long the schedule takes over from the request that began
_TAKE_OVER_MS: Final = 20_000
_MOST_OF_A_TICK: Final = 100
_MOST_FAILURES: Final = 12
_log = logging.getLogger(__name__)


def start(account_id: int, list_id: str, copy: CopyRequest | None) -> ValidationJob:
    """Begin to validate a list; return the job as far as it came within a few seconds.

    Raises 404 (1600) without the list, 409 (1602) while it is being validated, and 400 (5001) if
    the id of the copy is taken.
    """
    recipient_list = lists.get(account_id, list_id)
    if recipient_list is None:
        raise list_service.unknown_list(list_id)
    if copy and lists.get(account_id, copy.id) is not None:
        raise recipient_list_exists(f"recipient list '{copy.id}' already exists")
    job = new_job(recipient_list, copy)
    entry = due_entry(job)
    if not store.create(job, entry):
        raise resource_conflict(f"recipient list '{list_id}' is being validated")
    with audit.bound(None):  # the line about the start is the only one
        return _carry_out(job, entry, clock.now() + AT_ONCE_SECONDS)


def new_job(recipient_list: RecipientList, copy: CopyRequest | None) -> ValidationJob:
    """Return the job that validates a list as it is now."""
    job = ValidationJob(
        account_id=recipient_list.account_id,
        list_id=recipient_list.id,
        version=recipient_list.version,
        total=recipient_list.count,
        parts=recipient_list.parts,
    )
    if copy is None:
        return job
    name = copy.name or f"{recipient_list.name[:50]} (validated)"
    return replace(job, copy_id=copy.id, copy_name=name, keep=tuple(copy.keep))


def due_entry(job: ValidationJob) -> Due:
    """Return the entry by which a job goes on when the request that began it has ended."""
    names = {"account_id": job.account_id, "list_id": job.list_id}
    return Due(store.CONCERN, job.started_ms + _TAKE_OVER_MS, job.id, names)


def last(account_id: int, list_id: str) -> ValidationJob:
    """Return the last validation of a list, or one that has not begun; raises 404 (1600)."""
    job = store.get(account_id, list_id)
    if job is not None:
        return job
    recipient_list = lists.get(account_id, list_id)
    if recipient_list is None:
        raise list_service.unknown_list(list_id)
    return replace(new_job(recipient_list, None), status=NONE, started_ms=0)


def carry_out_due() -> None:
    """Go on with the jobs that have not ended, the oldest first, for most of a minute.

    One that fails is tried again later, each time after a longer pause, and ends after a day.
    """
    deadline = clock.now() + A_TICK_SECONDS
    for entry in due.find(store.CONCERN, clock.now_ms(), limit=_MOST_OF_A_TICK):
        if clock.now() >= deadline:
            return
        try:
            _continue(entry, deadline)
        except Exception:
            _log.exception("validation %s failed", entry.key)
            due.postpone(entry, clock.now_ms())


def _continue(entry: Due, deadline: float) -> None:
    job = store.get(entry.data["account_id"], entry.data["list_id"])
    if job is None or job.id != entry.key:
        due.remove(entry)
    elif entry.failures >= _MOST_FAILURES:
        _end(job, entry, replace(job, status=FAILED, problem="an internal error came up"))
    else:
        _carry_out(job, entry, deadline)


def _carry_out(job: ValidationJob, entry: Due, deadline: float) -> ValidationJob:
    """Check and copy until the job has ended, or the deadline has passed."""
    try:
        for recipients in _steps(job):
            if clock.now() >= deadline:
                return job
            after = _checked(job, recipients)
            if not store.advance(job, after[0], after[1]):
                return store.get(job.account_id, job.list_id) or job  # another process does it
            job = after[0]
        ended = _copied(job) if job.copy_id else job
    except BlobMissing:
        ended = replace(job, status=FAILED, problem="the list was changed while it was checked")
    return _end(job, entry, ended)


def _steps(job: ValidationJob) -> Iterator[list[StoredRecipient]]:
    """Yield the recipients that are not checked yet, step by step."""
    first_part, checked = divmod(job.position, PART_RECIPIENTS)
    for part in contents.read(_version(job), first_part):
        rest = islice(part, checked, None)
        checked = 0
        while step := list(islice(rest, STEP)):
            yield step


def _checked(
    job: ValidationJob, recipients: list[StoredRecipient]
) -> tuple[ValidationJob, list[str]]:
    results = service.results_of(job.account_id, [each["email"] for each in recipients])
    counts = Counter(job.counts)
    counts.update(results)
    return replace(job, position=job.position + len(results), counts=dict(counts)), results


def _copied(job: ValidationJob) -> ValidationJob:
    """Make the list of the recipients to keep; an interrupted copy is made again."""
    if not sum(job.counts.get(result, 0) for result in job.keep):
        return replace(job, problem="no recipient has a result to keep, so there is no copy")
    version = contents.write(job.account_id, job.copy_id, _kept(job))
    copy = RecipientList(
        account_id=job.account_id,
        id=job.copy_id,
        name=job.copy_name or job.copy_id,
        version=version.name,
        count=version.count,
        parts=version.parts,
        identity=job.id,
    )
    if lists.create(copy):
        return replace(job, copied=copy.count)
    contents.remove(version)
    present = lists.get(job.account_id, job.copy_id)
    if present and present.identity == job.id:  # a copy that was made before an interruption
        return replace(job, copied=version.count)
    problem = f"recipient list '{job.copy_id}' was created meanwhile, so there is no copy"
    return replace(job, problem=problem)


def _kept(job: ValidationJob) -> Iterator[bytes]:
    recipients = chain.from_iterable(contents.read(_version(job)))
    for recipient, result in zip(recipients, store.results_of(job), strict=True):
        if result in job.keep:
            yield encode(recipient)


def _end(job: ValidationJob, entry: Due, ended: ValidationJob) -> ValidationJob:
    status = FAILED if ended.status == FAILED else COMPLETED
    final = replace(ended, status=status, ended_ms=clock.now_ms())
    is_ours = store.advance(job, final, [])
    due.remove(entry)
    return final if is_ours else store.get(job.account_id, job.list_id) or final


def _version(job: ValidationJob) -> ListVersion:
    return ListVersion(job.account_id, job.list_id, job.version, job.total, job.parts)
