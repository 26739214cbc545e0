"""Pass recorded events to observers. There is none on AWS; the local runtime adds one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from chalicelib.core.message_event import Event

Observer = Callable[[Sequence[Event]], None]

_log = logging.getLogger(__name__)
_observers: list[Observer] = []


def add(observer: Observer) -> None:
    """Call ``observer`` with the events of each batch from now on, after they are recorded."""
    _observers.append(observer)


def remove(observer: Observer) -> None:
    """Call an observer no more."""
    _observers.remove(observer)


def notify(events: Sequence[Event]) -> None:
    """Call the observers; one that fails changes nothing about the events."""
    for observer in _observers:
        try:
            observer(events)
        except Exception:
            _log.exception("an observer of events failed")
