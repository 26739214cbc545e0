"""Measure how late small and scheduled sends start while bulk mail is under way.

A request with 20,000 recipients is accepted. While its mail leaves, single sends and scheduled
sends are made one after the other, and one more scheduled send is due each half second. Printed is
how long each waited from its acceptance, or from its time, until the sink had it.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.journey.service import Service, eventually

BULK = 20_000
SENDS = 40
MOST_SECONDS = 5.0
SHARE = 0.95
# Seconds from one send of each kind to the next
_PAUSE = 0.5


def main(bulk: int = BULK, sends: int = SENDS) -> None:
    """Measure and print the figures."""
    with tempfile.TemporaryDirectory() as directory, Service(Path(directory)) as service:
        service.send("warm-up@inbox.test")
        eventually(lambda: service.mailbox_count() == 1)
        due = _schedule(service, sends)
        _send_bulk(service, bulk)
        accepted = {}
        for number in range(sends):
            recipient = f"single-{number}@inbox.test"
            service.send(recipient)
            accepted[recipient] = time.time()
            time.sleep(_PAUSE)
        outstanding = bulk + 1 - service.mailbox_count()
        eventually(lambda: service.mailbox_count() >= bulk + 2 * sends + 1, 900)
        print(f"{bulk:,} under way, {max(0, outstanding):,} still to be sent after the last send")
        _report("single sends", _waits(service, accepted))
        _report("scheduled sends", _waits(service, due))


def _schedule(service: Service, sends: int) -> dict[str, float]:
    """Schedule sends from ten seconds on; return the time of each in seconds, by recipient."""
    begin = datetime.now(UTC) + timedelta(seconds=10)
    due: dict[str, float] = {}
    for number in range(sends):
        recipient, start = f"due-{number}@inbox.test", begin + timedelta(seconds=number * _PAUSE)
        start = start.replace(microsecond=0)
        _post(service, [recipient], options={"start_time": start.isoformat()})
        due[recipient] = start.timestamp()
    return due


def _send_bulk(service: Service, bulk: int) -> None:
    for first in range(0, bulk, 10_000):
        count = min(10_000, bulk - first)
        _post(service, [f"reader-{first + number}@inbox.test" for number in range(count)])


def _post(service: Service, recipients: Sequence[str], **fields: Any) -> None:
    content = {"from": "news@example.test", "subject": "News", "html": "<p>News</p>" * 50}
    data = {"recipients": [{"address": each} for each in recipients], "content": content, **fields}
    response = service.request("POST", "/api/v1/transmissions", data)
    assert response.status == 200, response.body


def _waits(service: Service, begins: dict[str, float]) -> list[float]:
    """Return the seconds that each send waited, shortest first."""
    waits = []
    for recipient, begin in begins.items():
        (message,) = service.mailbox(to=recipient)
        received = datetime.fromisoformat(message["received_at"]).timestamp()
        waits.append(max(0.0, received - begin))
    return sorted(waits)


def _report(title: str, waits: Sequence[float]) -> None:
    late = waits[math.ceil(len(waits) * SHARE) - 1]
    verdict = "holds" if late <= MOST_SECONDS else "FAILS"
    print(
        f"{title}: median {waits[len(waits) // 2]:.1f} s, {SHARE:.0%} within {late:.1f} s, "
        f"longest {waits[-1]:.1f} s [{verdict}: {SHARE:.0%} within {MOST_SECONDS:g} s]"
    )


if __name__ == "__main__":
    main()
