"""Count the AWS requests of a transmission with one recipient until its events are stored.

The benchmark runs its own service, and waits until its processes' caches of keys and accounts have
expired. The local cloud lists requests in order: those up to the one that stores the events, and
those that follow (counting the events and looking for webhooks). Polls that received nothing are
not counted; polls that received messages are as many as messages that were queued, and so are
deletes, which are shown separately. Ticks of schedules only add requests, so the round with the
fewest requests counts. The outcome of the attempt is in a file, and in the table as on AWS.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.journey.service import CloudCounts, Service, eventually

MOST_UNTIL_STORED = 7
ROUNDS = 4
_STORING = "DynamoDB.BatchWriteItem"
_SEPARATE = ("SQS.Receive", "SQS.Delete")


class Round(NamedTuple):
    """The requests of one send."""

    until_stored: list[str]
    after: list[str]
    receives: int
    seconds: float

    @property
    def count(self) -> int:
        """The requests until the events are stored."""
        return len(self.until_stored) + self.receives


def main() -> None:
    """Measure and print the figures."""
    _measure_with("file")
    _measure_with("table")


def _measure_with(journal: str) -> None:
    environment = {"DELIVERY_JOURNAL": ""} if journal == "table" else {}
    with tempfile.TemporaryDirectory() as directory:
        service = Service(Path(directory))
        try:
            service.start(COUNT_REQUESTS="1", **environment)
            service.send("warm-up@inbox.test")
            eventually(lambda: len(service.event_types("warm-up@inbox.test")) == 2)
            rounds = [_measure(service, number) for number in range(ROUNDS)]
        finally:
            service.stop()
    best = min(rounds, key=lambda each: (each.count, len(each.after)))
    verdict = "holds" if best.count <= MOST_UNTIL_STORED else "FAILS"
    print(
        f"journal in a {journal}: {best.count} requests until the event is stored, "
        f"{len(best.after)} more to count it and to look for webhooks, {best.receives} deletes; "
        f"stored after {best.seconds * 1000:.0f} ms [{verdict}: at most {MOST_UNTIL_STORED}]"
    )
    receives = f"{best.receives} receives"
    print(f"  {', '.join(best.until_stored)}, {receives}; then {', '.join(best.after)}")


def _measure(service: Service, number: int) -> Round:
    # Cached keys and accounts expire in this time.
    time.sleep(6)
    before = service.cloud_counts()
    began = time.monotonic()
    service.send(f"single-{number}@inbox.test")
    counts = eventually(lambda: _stored(service, before))
    seconds = time.monotonic() - began
    request_names = [name for name in counts.latest if not name.startswith(_SEPARATE)]
    end = request_names.index(_STORING) + 1
    receives = counts.by_operation["SQS.DeleteMessageBatch"]
    return Round(request_names[:end], request_names[end:], receives, seconds)


def _stored(service: Service, before: CloudCounts) -> CloudCounts | None:
    counts = service.cloud_counts().minus(before)
    queued, deleted = (
        counts.by_operation.get(name, 0) for name in ("SQS.SendMessage", "SQS.DeleteMessageBatch")
    )
    return counts if counts.by_operation.get(_STORING) and deleted >= queued > 0 else None


if __name__ == "__main__":
    main()
