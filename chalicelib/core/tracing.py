"""Trace the calls of deployed functions with AWS X-Ray, where the stage says ``TRACING=Active``.

Powertools' Tracer records the work of each call and, by X-Ray's own patch of botocore, each request
to AWS. It is imported only then: most stages do not trace, and its packages take 60 ms of a cold
start. Traces hold ids and routes, as log lines do (`chalicelib.core.logs`): no recipient's address,
no key, and not what a call returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from chalicelib.core.logs import SERVICE
from chalicelib.core.settings import settings

if TYPE_CHECKING:
    from aws_lambda_powertools import Tracer


def is_active() -> bool:
    """Tell whether this process traces."""
    return settings().tracing == "Active"


@contextmanager
def call(name: str, **ids: Any) -> Iterator[None]:
    """Record the block as one piece of work, with ``ids`` except those that are ``None``."""
    if not is_active():
        yield
        return
    failure: Exception | None = None
    subsegment: Any
    with _tracer().provider.in_subsegment(name=name) as subsegment:
        annotate(**ids)
        try:
            yield
        except Exception as error:
            failure = error  # its text may quote an address: the trace only says that there is one
            subsegment.add_fault_flag()
    if failure:
        raise failure


def annotate(**ids: Any) -> None:
    """Add ``ids`` to the innermost :func:`call`, to search traces by."""
    if not is_active():
        return
    for name, value in ids.items():
        if value is not None:
            _tracer().put_annotation(name, value)


@cache
def _tracer() -> Tracer:
    from aws_lambda_powertools import Tracer

    return Tracer(service=SERVICE, patch_modules=["botocore"])
