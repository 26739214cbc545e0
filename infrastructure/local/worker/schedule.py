"""Call one scheduled function again and again, in a thread of its own.

AWS calls scheduled functions every minute; the local runtime calls them every second, or every
``SCHEDULE_SECONDS``: a benchmark of costs calls them as often as AWS does.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Any

from chalicelib.core.json_types import Json
from chalicelib.core.lambda_events import Context, scheduled_event

log = logging.getLogger(__name__)

TICK = float(os.environ.get("SCHEDULE_SECONDS", "1"))


class Schedule:
    """One scheduled function and the thread that calls it every ``TICK`` seconds."""

    def __init__(self, name: str, function: Callable[[Json, Any], Any]) -> None:
        self._name = name
        self._function = function
        self._working = threading.Lock()

    def start(self) -> None:
        """Call in a thread of its own, for as long as the process lives."""
        threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def finish(self) -> None:
        """Return when no call is under way, and let no other begin."""
        self._working.acquire()

    def _run(self) -> None:
        while True:
            time.sleep(TICK)
            with self._working:
                try:
                    self._function(scheduled_event(self._name), Context(self._name))
                except Exception:
                    log.exception("%s failed; it is called again", self._name)
