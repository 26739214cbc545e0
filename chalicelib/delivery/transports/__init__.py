"""Ways out of the service: each transport takes one message and answers with an outcome.

The commit window
-----------------
A message may have been accepted as soon as its final dot is on the wire, and nobody can ask the
remote host later. So a transport does not send the dot itself: it wraps that last step into a
function and hands it to the caller's `Commit`, which decides when it runs and writes down what came
of it before anything else may happen::

    def commit(finish: Callable[[], Outcome]) -> Outcome:
        with one_at_a_time:
            outcome = finish()      # sends the dot, reads the reply
            journal.record(outcome)
            return outcome

`finish` sends the last piece of the message (at most 32 KB) together with the dot. It is to be
called once; it does not raise when the network fails, but returns a `Retry`. A transport calls
`commit` at most once per message, and not at all when the message failed before its dot; then only
the return value of `deliver` tells what happened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from chalicelib.delivery.outcome import Outcome

Commit = Callable[[Callable[[], Outcome]], Outcome]
"""Runs the step after which the message may have been accepted; returns that step's outcome."""


def commit_at_once(finish: Callable[[], Outcome]) -> Outcome:
    """Run the last step right away, for callers that keep no record."""
    return finish()


@dataclass(frozen=True, slots=True)
class OutboundMessage:
    """One message to one recipient.

    `sender` is the envelope sender, empty for a notification; `data` the message as RFC 5322 bytes,
    neither dot-stuffed nor ended by a dot. `source_address` is the local IPv4 or IPv6 address to
    send from (None: the system's choice), `ehlo_name` the name to greet with (empty: the
    transport's own).
    """

    sender: str
    recipient: str
    data: bytes
    source_address: str | None = None
    ehlo_name: str = ""


class Transport(Protocol):
    """One way out. Any number of threads may deliver at once."""

    def deliver(self, message: OutboundMessage, commit: Commit) -> Outcome:
        """Attempt the message once; failures of the network are outcomes, not exceptions."""
        ...

    def close(self) -> None:
        """Take leave of every idle connection; connections in use end with their message."""
        ...
