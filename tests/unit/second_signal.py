"""Stop a process by two signals, of which the second comes while an event is being set.

A program that a test runs calls :func:`stop` in its main thread. A handler that sets an event then
waits for the lock that the handler of the first signal holds.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable


def stop() -> None:
    """Send SIGTERM to this process, and SIGINT as soon as its main thread sets an event."""
    threading.Event.set = _interrupted(threading.Event.set)  # type: ignore[method-assign]
    os.kill(os.getpid(), signal.SIGTERM)


def _interrupted(set_event: Callable[[threading.Event], None]) -> Callable[[threading.Event], None]:
    def interrupted_set(event: threading.Event) -> None:
        if threading.current_thread() is threading.main_thread():
            threading.Event.set = set_event  # type: ignore[method-assign]
            with event._cond:  # type: ignore[attr-defined]
                signal.raise_signal(signal.SIGINT)
        set_event(event)

    return interrupted_set
