"""Write structured logs: one JSON object a line, with the ids of the current work.

Modules log with the standard library. :func:`configure` gives the root logger the handler of
Powertools' Logger, and :func:`bound` adds ids to every line of a block (``request_id``,
``account_id``, ``transmission_id``, ...).

:func:`measured` logs a line that CloudWatch reads metrics from (the embedded metric format). It is
not Powertools' Metrics, which would write a line of its own: each line costs as much as a write
unit, so the metrics of a request are in the line about it.

Lines at level INFO and above hold no recipient's address and no key: they name routes, not paths,
and ids. Text that looks like an address is removed from messages and exceptions, because an
exception may quote its input.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

from chalicelib.core import clock
from chalicelib.core.settings import settings

SERVICE = "postfinch"
NAMESPACE = "Postfinch"

#: Keys that a line about a request or batch does without: its log group is named after the function
_LONG = ("service", "location", "function_name", "xray_trace_id")

_LONG_TIME_MS = 10
_ADDRESS = re.compile(r"[^\s<>()\[\]{}:;,\"=]{1,256}@[\w.-]+")
_cold = [True]


class JsonLines(LambdaPowertoolsFormatter):
    """Formats a record as one line of JSON, with the keys of its ``extra`` and the bound ids.

    A record whose ``extra`` has ``routine`` makes a short line.
    """

    def __init__(self) -> None:
        super().__init__(
            log_record_order=["level", "message", "timestamp"],
            datefmt="%Y-%m-%dT%H:%M:%S.%FZ",
            utc=True,
            serialize_stacktrace=False,
            json_deserializer=str,  # a message is text, even if it looks like JSON
            service=SERVICE,
            location="%(name)s:%(lineno)d",
        )

    def serialize(self, log: Any) -> str:
        """Return the line; its texts, which may quote an address, are without it."""
        if log.pop("routine", False):
            for name in _LONG:
                log.pop(name, None)
        log.pop("taskName", None)
        for name, value in log.items():
            if isinstance(value, str):
                log[name] = _without_addresses(value)
        if notes := log.get("exception_notes"):
            log["exception_notes"] = [_without_addresses(str(note)) for note in notes]
        return super().serialize(log)


_lines = JsonLines()


def configure() -> None:
    """Write all logs of this process to standard error as JSON.

    With ``LOG_FORMAT=text`` nothing is changed: each process sets up its own logs.
    """
    if settings().log_format != "json":
        return
    if any(handler.formatter is _lines for handler in logging.getLogger().handlers):
        return
    level = settings().log_level
    logger = Logger(service=SERVICE, level=level, stream=sys.stderr, logger_formatter=_lines)
    handler = logger.registered_handler
    logging.getLogger(SERVICE).removeHandler(
        handler
    )  # the root logger has it, for the loggers of all modules
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("boto3", "botocore", "urllib3"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


@contextmanager
def bound(**ids: Any) -> Iterator[None]:
    """Add ``ids``, except those that are ``None``, to every line that the block logs."""
    before = _lines.thread_safe_get_current_keys()
    _lines.thread_safe_append_keys(**_present(ids))
    try:
        yield
    finally:
        _lines.thread_safe_clear_keys()
        _lines.thread_safe_append_keys(**before)


def note(**ids: Any) -> None:
    """Add ``ids`` to the lines that the innermost block of :func:`bound` logs from now on."""
    if _lines.thread_safe_get_current_keys():
        _lines.thread_safe_append_keys(**_present(ids))


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
    zero, their unit, and fractions of times from 10 ms on. It is not written to text logs, which
    people read, and not where there is no CloudWatch.
    """
    if not logger.isEnabledFor(logging.INFO):
        return
    if routine and not (settings().log_format == "json" and settings().cloudwatch_metrics):
        return
    if not settings().cloudwatch_metrics:
        logger.info(message, extra={**_present(fields), **dimensions, **counts})
        return
    where = {"Stage": settings().stage, **dimensions}
    if routine:
        counts = {
            name: round(count) if count >= _LONG_TIME_MS else count
            for name, count in counts.items()
            if count or _is_time(name)
        }
    metrics = [{"Name": name, **_unit(name, routine)} for name in counts]
    directive = {"Namespace": NAMESPACE, "Dimensions": [list(where)], "Metrics": metrics}
    described = {"Timestamp": clock.now_ms(), "CloudWatchMetrics": [directive]}
    logger.info(
        message,
        extra={**_present(fields), **where, **counts, "_aws": described, "routine": routine},
    )


def _unit(name: str, routine: bool) -> Mapping[str, str]:
    if _is_time(name):
        return {"Unit": "Milliseconds"}
    return {} if routine else {"Unit": "Count"}


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
