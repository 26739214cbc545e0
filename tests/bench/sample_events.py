"""Build the events of ten days for accounts of any size, in chunks of a hundred events.

Every account has a recipient, a transmission and a campaign of the last hour with 400 events.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from chalicelib.core import ids
from chalicelib.core.message_event import Event
from chalicelib.events.model import Sender, make_event, recipient_fields

CHUNK, SAME = 100, 400
DAY_MS = 86_400_000

RECIPIENT = "everywhere@inbox.test"
CAMPAIGN = "hourly-news"
TRANSMISSION = "111111111111111111"


class Chunk(NamedTuple):
    """Events that are recorded together, 10 ms apart; the newest is at ``at_ms``.

    They belong to one transmission to many recipients, or, when ``recipient`` is set, to many
    transmissions to that recipient.
    """

    account: int
    transmission: str
    campaign: str
    at_ms: int
    indexes: range
    recipient: str = ""

    def events(self) -> list[Event]:
        """Return the events of the chunk."""
        return [self._event(index, self.at_ms - 10 * index) for index in self.indexes]

    def _event(self, index: int, at_ms: int) -> Event:
        if not self.recipient:
            return _event(self._sender(self.transmission), index, at_ms)
        sender = self._sender(str(int(self.transmission) + index))
        return _event(sender, 0, at_ms, self.recipient)

    def _sender(self, transmission: str) -> Sender:
        return Sender(
            self.account,
            None,
            transmission,
            "rest",
            campaign_id=self.campaign,
            template_id="news",
        )


def chunks(account: int, size: int, now: int) -> Iterator[Chunk]:
    """Yield the chunks of an account until ``now``, which is in milliseconds."""
    spread = (size - 3 * SAME) // CHUNK
    for number in range(spread):
        at_ms = now - 60_000 - number * 10 * DAY_MS // spread
        transmission_id = str(3 * 10**17 + number)
        yield Chunk(account, transmission_id, f"bulk-{number % 7}", at_ms, range(CHUNK))
    for number in range(SAME // CHUNK):
        at_ms, indexes = now - 600_000 * (number + 1), range(number * CHUNK, (number + 1) * CHUNK)
        yield Chunk(account, TRANSMISSION, "one", at_ms, indexes)
        yield Chunk(account, str(4 * 10**17 + number), CAMPAIGN, at_ms, indexes)
        yield Chunk(account, str(5 * 10**17), "triggered", at_ms, indexes, RECIPIENT)


def _event(sender: Sender, index: int, at_ms: int, recipient: str = "") -> Event:
    message = ids.message_id(sender.transmission_id, index)
    about = recipient_fields(
        recipient or f"reader-{index}@inbox.test",
        metadata={"order": index},
        tags=[],
    )
    fields = {
        "message_id": message,
        "subject": f"News for reader {index}",
        "friendly_from": "news@example.test",
        "sending_domain": "example.test",
        "msg_from": f"b.{message}.{ids.recipient_hash(message)[:16]}@example.test",
        "msg_size": str(4000 + index),
        "queue_time": str(index),
    }
    return make_event("delivery", sender.fields() | about | fields, at_ms, attempt=1)
