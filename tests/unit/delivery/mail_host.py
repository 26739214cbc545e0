"""A mail host in this process: it takes messages without a network, and notes them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import pytest

from chalicelib.delivery import attempts
from chalicelib.delivery.outcome import Delivered, Outcome
from chalicelib.delivery.transports import Commit, OutboundMessage

OK = Delivered(250, "2.0.0 OK", "192.0.2.1", "TLSv1.3")


class MailHost:
    """What it answers a recipient is ``answers``' first outcome for them, and ``OK`` when none is
    left. ``before`` and ``after`` are called around the end of each message.
    """

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.messages: list[OutboundMessage] = []
        self.answers: dict[str, list[Outcome]] = {}
        self.before: Callable[[OutboundMessage], None] = lambda _: None
        self.after: Callable[[OutboundMessage], None] = lambda _: None
        self._lock = threading.Lock()

    @property
    def counts(self) -> Counter[str]:
        """How often each recipient's message was taken."""
        return Counter(self.taken)

    def deliver(self, message: OutboundMessage, commit: Commit) -> Outcome:
        """Take a message as a transport does."""

        def finish() -> Outcome:
            self.before(message)
            with self._lock:
                left = self.answers.get(message.recipient, [])
                outcome = left.pop(0) if left else OK
                self.messages.append(message)
                if isinstance(outcome, Delivered):
                    self.taken.append(message.recipient)
            self.after(message)
            return outcome

        return commit(finish)

    def close(self) -> None:
        """Do nothing."""

    def install(self, monkeypatch: pytest.MonkeyPatch) -> MailHost:
        """Let all mail of this process go here."""
        monkeypatch.setattr(attempts, "transport", lambda _: self)
        return self
