"""Receive the webhooks of one test, on a port of the test's own process."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping

from postfinch.http_api import Api
from postfinch.json_types import Json
from postfinch.testing.event_types import event_types, require_type
from postfinch.testing.post_target import PostTarget, is_signed
from postfinch.testing.waiting import TIMEOUT, wait_for

_TOO_LATE = (
    "\n(the webhook was registered when the test first used `postfinch.webhooks`: use it before "
    "the mail is sent)"
)


class WebhookEvents:
    """The events of one test's account, as webhooks brought them.

    ``bad_signatures`` counts batches whose signature was missing or wrong.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._events: list[Json] = []
        self._lock = threading.Lock()
        self._secret = ""
        self._is_used = False
        self.bad_signatures = 0
        self._target = PostTarget(self._receive)
        body = {"name": "pytest", "target": self._target.url, "events": event_types(api)}
        self._id: str = api.post("/webhooks", body)["id"]
        self._secret = api.post(f"/webhooks/{self._id}/signing-secret")["signing_secret"]

    def __iter__(self) -> Iterator[Json]:
        with self._lock:
            return iter(self._events.copy())

    def __len__(self) -> int:
        with self._lock:
            return len(self._events)

    def wait_for(self, *, type: str, to: str = "", timeout: float = TIMEOUT) -> Json:
        """Wait for an event of a type, such as ``bounce``, of mail to an address; return it.

        Raises :class:`NeverHappened`, or ValueError if there are no events of this type.
        """
        require_type(self._api, type)
        is_first_use = not self._is_used
        self._is_used = True

        def look() -> Json | None:
            return next(
                (each for each in self if each["type"] == type and to in ("", each.get("rcpt_to"))),
                None,
            )

        def instead() -> str:
            lines = [f"\n  {each['type']} of mail to {each.get('rcpt_to')}" for each in self]
            others = "".join(lines) or "\n  no events at all"
            text = f"no webhook with {type!r} within {timeout} s, but:{others}"
            return text + (_TOO_LATE if is_first_use else "")

        return wait_for(look, timeout, instead)

    def close(self) -> None:
        """Delete the webhook, and stop listening."""
        self._api.delete(f"/webhooks/{self._id}")
        self._target.close()

    def _receive(self, headers: Mapping[str, str], body: bytes) -> None:
        events = [
            event
            for item in json.loads(body)
            for envelope in item.values()
            for event in envelope.values()
        ]
        with self._lock:
            # The test request comes before there is a secret, and has no events
            if events and not is_signed(self._secret, headers, body):
                self.bad_signatures += 1
            self._events += events
