"""Structured logs: one JSON object a line, with the ids of what is being worked on.

Modules log by the standard library. :func:`configure` gives the root logger its form, and
:func:`bound` says what every line within a block is about (``request_id``, ``account_id``,
``transmission_id``, ...). The names of the other keys are those of Powertools' Logger, which takes
35 ms of each cold start to import and is therefore not used.

:func:`measured` logs a line that CloudWatch reads metrics from (the embedded metric format). Lines
at level INFO and above hold no address of a recipient and no key: they name routes, not paths, and
ids. What looks like an address in a message or in an exception, which may quote what it stumbled
over, is put out of the JSON lines.
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
    """Have everything that this process logs written to the standard error output.

    With ``LOG_FORMAT=text`` nothing is changed: who runs the process says how it logs.
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
    """Put ``ids``, those that are not ``None``, into every line that the block logs."""
    token = _bound.set({**_bound.get(), **_present(ids)})
    try:
        yield
    finally:
        _bound.reset(token)


def note(**ids: Any) -> None:
    """Put ``ids`` into what the innermost block of :func:`bound` logs from now on."""
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
    """Log ``counts`` as metrics with these dimensions (besides the stage); ``fields`` go along.

    A count in milliseconds has a name that ends in ``Time``. A ``routine`` line, one for each
    request or batch, is left out of logs that people read as text.
    """
    if not logger.isEnabledFor(logging.INFO):
        return
    if routine and settings().log_format != "json":
        return
    where = {"Stage": settings().stage, **dimensions}
    metrics = [
        {"Name": name, "Unit": "Milliseconds" if name.endswith("Time") else "Count"}
        for name in counts
    ]
    directive = {"Namespace": NAMESPACE, "Dimensions": [list(where)], "Metrics": metrics}
    described = {"Timestamp": clock.now_ms(), "CloudWatchMetrics": [directive]}
    logger.info(
        message, extra={"fields": {**_present(fields), **where, **counts, "_aws": described}}
    )


class JsonLines(logging.Formatter):
    """A record as one line of JSON; of ``extra``, the mapping ``fields`` goes in."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "level": record.levelname,
            "message": _without_addresses(record.getMessage()),
            "timestamp": self._time(record),
            "service": SERVICE,
            "location": f"{record.name}:{record.lineno}",
        }
        line |= _bound.get()
        line |= getattr(record, "fields", _NOTHING)
        if record.exc_info:
            line["exception"] = _without_addresses(self.formatException(record.exc_info))
        return json.dumps(line, separators=(",", ":"), default=str)

    def _time(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        return f"{seconds}.{int(record.msecs):03d}Z"


def of_invocation(context: Any) -> dict[str, Any]:
    """Return the ids of a call of a Lambda function by its ``context``, which may be ``None``."""
    was_cold, _cold[0] = _cold[0], False
    return {
        "function_name": getattr(context, "function_name", None),
        "function_request_id": getattr(context, "aws_request_id", None),
        "cold_start": was_cold,
    }


def _present(ids: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in ids.items() if value is not None}


def _without_addresses(text: str) -> str:
    return _ADDRESS.sub("(address)", text) if "@" in text else text
