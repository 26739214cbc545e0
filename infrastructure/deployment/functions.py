"""List the Lambda functions of the application: what calls them, and the memory and time they get.

All are found in ``app.py``: the API's function, one for each queue and one for each schedule. A
function that is added there is deployed without a change here. :data:`_SIZES` holds what was
measured of those that need another size than their kind has (``python -m tests.bench functions``
measures it again).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from chalice.utils import to_cfn_resource_name

API_NAME = "api_handler"
API_ID = "APIHandler"


class FunctionKind(Enum):
    """The trigger of a function."""

    API = "api"
    QUEUE = "queue"
    SCHEDULE = "schedule"


@dataclass(frozen=True, slots=True)
class Size:
    """Memory in MiB, which buys processor time as well (one core at 1769), and time in seconds."""

    memory: int
    timeout: int


@dataclass(frozen=True, slots=True)
class Function:
    """One function: ``name`` in ``app.py``, ``logical_id`` in Chalice's template.

    ``handler`` is the attribute of ``app``. Of a queue's function, ``queue`` is the queue's short
    name, ``window`` the seconds for which its batches are collected, and ``concurrency`` the most
    calls at a time (0: the deployment decides). ``every`` is the seconds from one call of a
    schedule to the next.
    """

    name: str
    logical_id: str
    kind: FunctionKind
    handler: str
    queue: str = ""
    window: int = 0
    concurrency: int = 0
    every: int = 0

    @property
    def size(self) -> Size:
        """Return the memory and time of the function."""
        return _SIZES.get(self.name, _SIZES_BY_KIND[self.kind])

    @property
    def event_id(self) -> str:
        """Return Chalice's logical id of the event source."""
        suffix = "-sqs-event-source" if self.kind is FunctionKind.QUEUE else "-event"
        return str(to_cfn_resource_name(self.name + suffix))


# A delivery attempt can take most of DELIVERY_LEASE, and nothing may be cut off in the middle of
# one: what delivers has the longest time there is. Generation and small sends deliver the messages
# of a transmission that has one chunk.
# Work that keeps a processor busy costs the same with a full core and is done sooner. Small sends
# and delivery wait for mail hosts most of the time, and memory that waits is paid for. A delivery
# batch of the largest messages takes less than 200 MB.
_SIZES = {
    "generation": Size(1769, 900),
    "small_sends": Size(256, 900),
    "delivery": Size(768, 900),
    # A batch of events from outside can hold hundreds of thousands, each to be marked as known.
    "ingest": Size(1769, 900),
}

_SIZES_BY_KIND = {
    FunctionKind.API: Size(1769, 30),
    FunctionKind.QUEUE: Size(1024, 120),
    FunctionKind.SCHEDULE: Size(512, 300),
}


def functions() -> list[Function]:
    """List the functions of ``app.py``, the API's first."""
    app = importlib.import_module("app")
    return [
        Function(API_NAME, API_ID, FunctionKind.API, "app"),
        *(_of_event_source(app, source) for source in app.app.event_sources),
    ]


def _of_event_source(app: Any, source: Any) -> Function:
    handler = source.handler_string.rpartition(".")[2]
    names: Mapping[str, Any] = {
        "name": source.name,
        "logical_id": to_cfn_resource_name(source.name),
        "handler": handler,
    }
    if hasattr(source, "schedule_expression"):
        return Function(
            kind=FunctionKind.SCHEDULE, every=_seconds(source.schedule_expression), **names
        )
    (queue,) = (
        queue for queue, each in app.QUEUE_HANDLERS.items() if each is getattr(app, handler)
    )
    return Function(
        kind=FunctionKind.QUEUE,
        queue=queue,
        window=source.maximum_batching_window_in_seconds,
        concurrency=source.maximum_concurrency or 0,
        **names,
    )


def _seconds(schedule: Any) -> int:
    """Return the time between the calls of a ``rate(...)``; raises ``ValueError`` for others."""
    text = schedule if isinstance(schedule, str) else schedule.to_string()
    match = re.fullmatch(r"rate\((\d+) (minute|hour)s?\)", text)
    if not match:
        raise ValueError(f"{text}: write the rate of a schedule in minutes or hours")
    return int(match[1]) * {"minute": 60, "hour": 3600}[match[2]]
