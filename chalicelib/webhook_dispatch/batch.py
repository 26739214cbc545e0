"""Describe the queue messages of batches (``webhook-batches``) by their heads.

The payload of a message is the body that is posted, byte for byte, at every attempt.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from chalicelib.core.json_types import Json

if TYPE_CHECKING:
    from chalicelib.relaying.relay_events import RelayFields

QUEUE: Final = "webhook-batches"


@dataclass(frozen=True, slots=True)
class BatchHead:
    """The head of a batch's message. Times are in milliseconds.

    ``attempts`` counts failed posts, ``waits`` how often the batch was postponed since the last of
    them, ``round`` the redeliveries that were requested, and ``earlier_attempts`` the failed posts
    of the rounds before. ``relay`` is for a batch that is a received message: its events are made
    of it. Only messages of version 0.1.0 have a ``not_before`` (goes with 0.3.0): delays are no
    part of the head any more.
    """

    account_id: int
    webhook_id: str
    batch_id: str
    size: int
    begun_ms: int
    attempts: int = 0
    waits: int = 0
    round: int = 0
    not_before: float = 0.0
    earlier_attempts: int = 0
    relay: RelayFields | None = None

    @property
    def all_attempts(self) -> int:
        """Return the failed posts of all rounds, as the batch status shows them (spec 2.10)."""
        return self.earlier_attempts + self.attempts

    @property
    def post_number(self) -> int:
        """Return the number of the next post, from 0: no other post of the batch has it."""
        return self.all_attempts + self.round

    def as_json(self) -> Json:
        """Return the head of the queue message."""
        fields = asdict(self)
        if self.relay is None:  # as earlier versions wrote it, which take no other field
            del fields["relay"]
        return fields


def read_head(head: Json) -> BatchHead:
    """Return the head that :meth:`BatchHead.as_json` wrote."""
    return BatchHead(**head)
