"""Read the time that figures are asked for."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from chalicelib.core import clock
from chalicelib.core.errors import invalid_params
from chalicelib.core.query import Query
from chalicelib.core.settings import settings
from chalicelib.domain_reports.model import Period

_DEFAULT = timedelta(days=7)
_TIME = re.compile(r"(?:19|2\d)\d\d-\d\d-\d\d(T\d\d:\d\d)?", re.ASCII)


def read_period(query: Query) -> Period:
    """Read ``from`` and ``to``, days or minutes of UTC; raises 400.

    Without ``from`` it is the week before ``to``, which is now if it is left out.
    """
    end = _time(query, "to") or datetime.fromtimestamp(clock.now(), UTC)
    start = _time(query, "from") or end - _DEFAULT
    if start > end:
        raise invalid_params("from must be before to", param="from")
    # Nothing is older: of an earlier time, an empty period is left
    oldest = int(clock.now()) - settings().domain_reports_retention
    return Period(max(oldest, int(start.timestamp())), max(oldest, int(end.timestamp())))


def _time(query: Query, name: str) -> datetime | None:
    text = query.get(name)
    if not text:
        return None
    try:
        if not _TIME.fullmatch(text):
            raise ValueError(text)
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        text = f"{name} must be a day or a time such as 2026-01-31T09:05"
        raise invalid_params(text, param=name) from None
