"""Tell work under way that its process is to end, so that it begins nothing that takes long.

A worker process calls :func:`request` when it is asked to stop (SIGTERM). Lambda never does.
"""

from __future__ import annotations

from threading import Event

from chalicelib.core import caches

_event = Event()


def request() -> None:
    """Ask all work of this process to come to its end."""
    _event.set()


def is_requested() -> bool:
    """Tell whether this process is to end."""
    return _event.is_set()


@caches.register
def withdraw() -> None:
    """Forget the request (tests share one process)."""
    _event.clear()
