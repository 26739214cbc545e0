"""One transmission of one recipient: AWS requests from request to stored delivery event.

Against a service of its own. Requests are counted by the local cloud. A worker's poll that found
nothing is not counted; one that found something is followed by one delete, which tells their
number. Deletes come after the event is stored or beside it and are shown apart.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.journey.service import CloudCounts, Service, eventually

MOST_IN_ALL = 12
ROUNDS = 5


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as directory:
        service = Service(Path(directory))
        try:
            service.start(COUNT_REQUESTS="1")
            service.send("warm-up@inbox.test")
            eventually(lambda: len(service.event_types("warm-up@inbox.test")) == 2)
            for number in range(ROUNDS):
                _measure(service, number)
        finally:
            service.stop()


def _measure(service: Service, number: int) -> None:
    # What a process remembers of keys and accounts is forgotten by then
    time.sleep(6)
    before = service.cloud_counts()
    began = time.monotonic()
    service.send(f"single-{number}@inbox.test")
    counts = eventually(lambda: _stored(service, before))
    seconds = time.monotonic() - began
    deletes = counts.by_operation.pop("SQS.DeleteMessageBatch", 0)
    polls = counts.by_operation.pop("SQS.ReceiveMessage", 0)
    total = counts.requests + deletes
    verdict = "holds" if total <= MOST_IN_ALL else "FAILS"
    print(
        f"{total} requests besides {deletes} deletes and {polls - deletes} polls in wait, "
        f"event stored after {seconds * 1000:.0f} ms [{verdict}: at most 4 + 8]"
    )
    if number == ROUNDS - 1:
        print(f"  {counts.by_operation}, receives with messages: {deletes}")


def _stored(service: Service, before: CloudCounts) -> CloudCounts | None:
    counts = service.cloud_counts().minus(before)
    deletes = counts.by_operation.get("SQS.DeleteMessageBatch", 0)
    return counts if counts.by_operation.get("DynamoDB.BatchWriteItem") and deletes >= 2 else None


if __name__ == "__main__":
    main()
