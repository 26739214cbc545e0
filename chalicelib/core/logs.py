"""Write structured logs: one JSON object a line, with the ids of the current work.

Modules log with the standard library. :func:`configure` sets the format of the root logger, and
:func:`bound` adds ids to every line of a block (``request_id``, ``account_id``,
``transmission_id``, ...). The other keys have the names of Powertools' Logger, so that queries
written for it work. Powertools itself is not used: its Logger and Metrics add 5 ms and 40 modules
to a cold start, and would still need the code below.

:func:`measured` logs a line that CloudWatch reads metrics from (the embedded metric format).

Lines at level INFO and above hold no recipient's address and no key: they name routes, not paths,
and ids. Text that looks like an address is removed from messages and exceptions, because an
exception may quote its input.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from chalicelib.core import clock
from chalicelib.core.settings import settings

SERVICE = "postfinch"
NAMESPACE = "Postfinch"

_ADDRESS = re.compile(r"[^\s<>()\[\]{}:;,\"=]{1,256}@[\w.-]+")
_NOTHING: dict[str, Any] = {}
_bound: ContextVar[dict[str, Any]] = ContextVar("bound", default=_NOTHING)
_cold = [True]


def configure() -> None:
    """Write all logs of this process to standard error as JSON.

    With ``LOG_FORMAT=text`` nothing is changed: each process sets up its own logs.
    """
    if settings().log_format != "json":
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings().log_level)
    for noisy in ("boto3", "botocore", "urllib3"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


@contextmanager
def bound(**ids: Any) -> Iterator[None]:
    """Add ``ids``, except those that are ``None``, to every line that the block logs."""
    token = _bound.set({**_bound.get(), **_present(ids)})
    try:
        yield
    finally:
        _bound.reset(token)


def note(**ids: Any) -> None:
    """Add ``ids`` to the lines that the innermost block of :func:`bound` logs from now on."""
    if (current := _bound.get()) is not _NOTHING:
        current.update(_present(ids))


def measured(
    logger: logging.Logger,
    message: str,
    counts: Mapping[str, float],
    *,
    dimensions: Mapping[str, str],
    routine: bool = False,
    **fields: Any,
) -> None:
    """Log ``counts`` as metrics with these dimensions and the stage; ``fields`` are added.

    The name of a count in milliseconds ends in ``Time``. A ``routine`` line, one for each request
    or batch, is short, because it costs as much as a write unit: it leaves out counts that are
    zero, and their unit. It is not written to text logs, which people read.
    """
    if not logger.isEnabledFor(logging.INFO):
        return
    if routine and settings().log_format != "json":
        return
    where = {"Stage": settings().stage, **dimensions}
    if routine:
        counts = {name: count for name, count in counts.items() if count or _is_time(name)}
    metrics = [{"Name": name, **_unit(name, routine)} for name in counts]
    directive = {"Namespace": NAMESPACE, "Dimensions": [list(where)], "Metrics": metrics}
    described = {"Timestamp": clock.now_ms(), "CloudWatchMetrics": [directive]}
    logger.info(
        message,
        extra={
            "fields": {**_present(fields), **where, **counts, "_aws": described},
            "routine": routine,
        },
    )


def _unit(name: str, routine: bool) -> Mapping[str, str]:
    if _is_time(name):
        return {"Unit": "Milliseconds"}
    return {} if routine else {"Unit": "Count"}


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON, with the mapping ``fields`` of its ``extra``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "level": record.levelname,
            "message": _without_addresses(record.getMessage()),
            "timestamp": self._time(record),
        }
        if getattr(record, "routine", False):
            # Its log group is named after the function
            line |= {name: each for name, each in _bound.get().items() if name != "function_name"}
        else:
            line |= {"service": SERVICE, "location": f"{record.name}:{record.lineno}"}
            line |= _bound.get()
        line |= getattr(record, "fields", _NOTHING)
        if record.exc_info:
            line["exception"] = _without_addresses(self.formatException(record.exc_info))
        return json.dumps(line, separators=(",", ":"), default=str)

    def _time(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        return f"{seconds}.{int(record.msecs):03d}Z"


def of_invocation(context: Any) -> dict[str, Any]:
    """Return the ids of a Lambda call; its ``context`` may be ``None``."""
    was_cold, _cold[0] = _cold[0], False
    return {
        "function_name": getattr(context, "function_name", None),
        "function_request_id": getattr(context, "aws_request_id", None),
        "cold_start": was_cold or None,
    }


def _is_time(name: str) -> bool:
    return name.endswith("Time")


def _present(ids: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in ids.items() if value is not None}


def _without_addresses(text: str) -> str:
    return _ADDRESS.sub("(address)", text) if "@" in text else text
