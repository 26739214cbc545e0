"""Wait for the events of a message, whether it was sent or came in."""

from __future__ import annotations

from abc import ABC, abstractmethod

from postfinch.http_api import Api
from postfinch.json_types import Json
from postfinch.testing.event_types import require_type
from postfinch.testing.waiting import TIMEOUT, wait_for


class Traced(ABC):
    """A message that has events."""

    _api: Api

    @property
    @abstractmethod
    def events(self) -> list[Json]:
        """The events of the message so far, the oldest first."""

    def wait_for_event(self, type: str, *, timeout: float = TIMEOUT) -> Json:
        """Wait until the message has an event of this type, such as ``click``; return it."""
        require_type(self._api, type)

        def look() -> Json | None:
            return next((event for event in self.events if event["type"] == type), None)

        def instead() -> str:
            others = ", ".join(event["type"] for event in self.events) or "no events"
            return f"no event {type!r} of {self!r} within {timeout} s, but {others}"

        return wait_for(look, timeout, instead)
