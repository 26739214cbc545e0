"""Tell who watches the machine whether mail can be accepted, and whether all parts work.

``GET /health`` is 200 when mail can be accepted: requests can be stored, and the relay greets.
``GET /ready`` is 200 when mail can be delivered as well. Both are 503 otherwise, with the parts
that fail.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.core import aws
from chalicelib.core.settings import settings
from infrastructure.local.supervisor import probes
from outbound import health as delivery_health

OK, FAILING = "ok", "failing"
#: Answers are this old at most, so that questions from outside cost little
SECONDS_KEPT = 2.0

Check = Callable[[], bool]


class Health:
    """The state of the parts, by their names."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = checks
        self._lock = threading.Lock()
        self._parts: dict[str, bool] = {}
        self._checked_at = -SECONDS_KEPT

    def parts(self) -> dict[str, bool]:
        """Return whether each part works."""
        with self._lock:
            if time.monotonic() - self._checked_at >= SECONDS_KEPT:
                self._parts = {name: check() for name, check in self._checks.items()}
                self._checked_at = time.monotonic()
            return self._parts

    def answer(self, scope: object) -> tuple[int, str, bytes]:
        """Return the answer to a request: status, media type and body."""
        parts = self.parts()
        is_well = all(parts.values())
        body = {
            "status": OK if is_well else FAILING,
            "parts": {name: OK if works else FAILING for name, works in parts.items()},
        }
        return (200 if is_well else 503), "application/json", json.dumps(body).encode()


def accepting() -> dict[str, Check]:
    """Return the checks of what accepts mail."""
    ports = [int(port) for port in settings().relay_ports.split(",") if port]
    smtp: dict[str, Check] = {"smtp": lambda: probes.greets_by_smtp(ports[0])} if ports else {}
    return {"storage": can_store, **smtp}


def working() -> dict[str, Check]:
    """Return the checks of what becomes of accepted mail."""
    return {"delivery": lambda: not delivery_health.silent_processes()}


def can_store() -> bool:
    """Tell whether a request's item can be written and is on the disk."""
    with suppress(BotoCoreError, ClientError):
        item = {"pk": {"S": "health"}, "sk": {"S": "edge"}}
        aws.dynamodb().put_item(TableName=settings().table("config"), Item=item)
        return True
    return False
