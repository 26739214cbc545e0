"""Accept messages in this process, without a network, and remember them."""

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
    """Answers a recipient with the next outcome of ``answers``, or with ``OK`` if there is none.

    ``recipients`` holds those whose messages it accepted. ``before`` and ``after`` are called
    around the end of each message, and ``before_commit`` when only its final dot is missing.
    """

    def __init__(self) -> None:
        self.recipients: list[str] = []
        self.messages: list[OutboundMessage] = []
        self.answers: dict[str, list[Outcome]] = {}
        self.before_commit: Callable[[OutboundMessage], None] = lambda _: None
        self.before: Callable[[OutboundMessage], None] = lambda _: None
        self.after: Callable[[OutboundMessage], None] = lambda _: None
        self._lock = threading.Lock()

    @property
    def counts(self) -> Counter[str]:
        """Return how often a message to each recipient was accepted."""
        return Counter(self.recipients)

    def deliver(self, message: OutboundMessage, commit: Commit) -> Outcome:
        """Accept a message as a transport does."""

        def finish() -> Outcome:
            self.before(message)
            with self._lock:
                outcomes = self.answers.get(message.recipient, [])
                outcome = outcomes.pop(0) if outcomes else OK
                self.messages.append(message)
                if isinstance(outcome, Delivered):
                    self.recipients.append(message.recipient)
            self.after(message)
            return outcome

        self.before_commit(message)
        outcome = commit(finish)
        message.on_answer(outcome)
        return outcome

    def close(self) -> None:
        """Do nothing."""

    def install(self, monkeypatch: pytest.MonkeyPatch) -> MailHost:
        """Send all mail of this process to this host."""
        monkeypatch.setattr(attempts, "transport", lambda _: self)
        return self
