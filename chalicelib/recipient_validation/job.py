"""Hold the validation of one recipient list: what it is about, and how far it is."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.core import clock
from chalicelib.recipient_validation.model import GOOD, RESULTS

#: The list was not validated within the last 30 days
NONE: Final = "none"
RUNNING: Final = "running"
COMPLETED: Final = "completed"
FAILED: Final = "failed"
STATUSES: Final = (NONE, RUNNING, COMPLETED, FAILED)

#: Recipients of one step, whose results are stored together; a part of a list has four steps
STEP: Final = 250

_LETTERS: Final = {result: result[0] for result in RESULTS}
_RESULTS: Final = {letter: result for result, letter in _LETTERS.items()}


@dataclass(frozen=True, slots=True)
class ValidationJob:
    """The validation of a version of an account's list.

    ``position`` is the number of recipients that are checked, ``counts`` has them by result. The
    recipients whose result is in ``keep`` become the list ``copy_id``, if that is not empty;
    ``copied`` is their number, ``None`` until the copy is made. ``problem`` says why it failed, or
    why there is no copy. Times are milliseconds.
    """

    account_id: int
    list_id: str
    version: str
    total: int
    parts: int
    id: str = field(default_factory=lambda: secrets.token_hex(12))
    status: str = RUNNING
    position: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    copy_id: str = ""
    copy_name: str = ""
    keep: tuple[str, ...] = GOOD
    copied: int | None = None
    problem: str = ""
    started_ms: int = field(default_factory=clock.now_ms)
    ended_ms: int = 0


def to_letters(results: list[str]) -> str:
    """Return results as text with one letter each."""
    return "".join(_LETTERS[result] for result in results)


def from_letters(letters: str) -> list[str]:
    """Return the results of :func:`to_letters`."""
    return [_RESULTS[letter] for letter in letters]


def shown_fields(job: ValidationJob) -> dict[str, Any]:
    """Return what the audit log shows of a validation."""
    fields: dict[str, Any] = {"recipients": job.total}
    if job.copy_id:
        fields |= {"copy": job.copy_id, "keep": list(job.keep)}
    return fields
