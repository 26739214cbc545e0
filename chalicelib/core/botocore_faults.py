"""Say that this botocore is not made as `aws_requests` needs it."""

from __future__ import annotations

import logging
from functools import cache

_log = logging.getLogger(__name__)


@cache
def report_unprepared() -> None:
    """Log the exception that is being handled, once in a process."""
    import botocore

    _log.exception(
        "requests are not prepared with botocore %s: each costs half a millisecond more",
        botocore.__version__,
    )
