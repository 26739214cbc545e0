"""Measure what the width of the commit lock costs: `python -m tests.bench commit_width`.

A mail host answers each final dot after 2, 50 or 250 ms. A delivery function sends it messages with
``DELIVERY_COMMIT_WIDTH`` 1 (the default), 4 and 16, and records each in a journal in memory. The
dollars are those of the function's time. At 250 ms the lock is lost, whatever its width: mail to so
slow a host goes without it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import pytest

from chalicelib.core.settings import settings
from chalicelib.delivery import attempts
from chalicelib.delivery.attempts import attempt_all
from chalicelib.delivery.commits import UnitCommits
from chalicelib.delivery.delivery_batch import FinishedMessage
from chalicelib.delivery.departures import Departure
from chalicelib.delivery.store.journal_files import Entry
from chalicelib.fleet.routing import Route
from infrastructure.deployment.functions import functions
from tests.bench.costs import GB_SECOND
from tests.unit.delivery.examples import message
from tests.unit.delivery.mail_host import MailHost

_ANSWERS_MS = (2, 50, 250)
_WIDTHS = (1, 4, 16)
_SECONDS = 3.0  # about this long for each figure
_MOST = 400
_FOREVER = 1e12


class _Journal:
    def entries(self, *, first: bool) -> dict[int, Entry]:
        return {}

    def reserve(self) -> None:
        """Do nothing."""

    def record(self, index: int, entry: Entry) -> None:
        """Keep nothing: the time of the real journals is measured elsewhere."""

    def close(self, *, completed: bool) -> None:
        """Do nothing."""


def main() -> None:
    """Print messages a second and dollars for a million, by answer time and width."""
    memory_gb = next(each for each in functions() if each.name == "delivery").size.memory / 1024
    print(f"{'answer':>8}{'width':>8}{'messages/s':>14}{'$ a million':>14}")
    for milliseconds in _ANSWERS_MS:
        for width in _WIDTHS:
            rate = _rate(milliseconds / 1000, width)
            dollars = 1e6 / rate * memory_gb * GB_SECOND
            print(f"{milliseconds:5} ms{width:8}{rate:14,.0f}{dollars:14.2f}", flush=True)


def _rate(answer_seconds: float, width: int) -> float:
    os.environ["DELIVERY_COMMIT_WIDTH"] = str(width)
    settings.cache_clear()
    attempts._commit_lock.cache_clear()
    host = MailHost()
    host.after = lambda _: time.sleep(answer_seconds)
    count = min(_MOST, int(_SECONDS * width / answer_seconds) + 1)
    messages = [message(index) for index in range(count)]
    with pytest.MonkeyPatch.context() as patch:
        host.install(patch)
        _attempt(messages[:16])
        began = time.perf_counter()
        _attempt(messages)
    return count / (time.perf_counter() - began)


def _attempt(messages: Sequence[FinishedMessage]) -> None:
    departures = [Departure(message, Route("default")) for message in messages]
    attempt_all(departures, UnitCommits(_Journal()), until=_FOREVER)


if __name__ == "__main__":
    main()
