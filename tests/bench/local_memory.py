"""Measure the memory of the local cloud for a mixed load, and that it is flat after retention.

Each load is 2,000 messages of a newsletter, in requests of 500 recipients, and 400 single ones,
until all events are recorded. The first load also brings the memory that requests work with. After
the second load and its figure, everything that expires is removed, as if its time were over; the
third load then uses that memory again.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.journey.service import Service, eventually

REQUESTS, RECIPIENTS, SINGLES = 4, 500, 400
MESSAGES = REQUESTS * RECIPIENTS + SINGLES
KILOBYTES_BAR = 2.0
FLAT_BAR = 0.5
HTML = "<p>Hello {{name}}, <a href='https://example.com/{{name}}'>look</a></p>" * 20
_LONG_FROM_NOW = 400 * 86_400


def main() -> None:
    """Send the loads and print the figures with their bars."""
    with tempfile.TemporaryDirectory() as directory:
        service = Service(Path(directory))
        try:
            service.start(COUNT_REQUESTS="1")
            memory = [_after_load(service, name) for name in ("first", "second")]
            removed = _expire(service)
            memory.append(_after_load(service, "third"))
        finally:
            service.stop()
    _print("a mixed load", memory[1] - memory[0], KILOBYTES_BAR)
    _print(f"after {removed} expired items were removed", memory[2] - memory[1], FLAT_BAR)


def _print(name: str, growth: float, bar: float) -> None:
    kilobytes = growth / MESSAGES / 1000
    verdict = "holds" if kilobytes <= bar else "FAILS"
    print(f"{name}: the cloud grows by {kilobytes:.1f} KB a message [{verdict}: at most {bar}]")


def _after_load(service: Service, name: str) -> float:
    """Send the load; return the bytes of memory that the cloud then has."""
    send_load(service, name)
    (cloud,) = service.running("cloud")[:1]
    return float(cloud.memory_info().rss)


def send_load(service: Service, name: str) -> None:
    """Send the messages, to addresses with ``name``, and wait until their events are recorded."""
    for number in range(REQUESTS):
        recipients = [
            {
                "address": f"{name}-{number}-{each}@inbox.test",
                "substitution_data": {"name": f"reader-{each}"},
                "metadata": {"user": str(each)},
            }
            for each in range(RECIPIENTS)
        ]
        content = {"from": "hello@example.test", "subject": "News {{name}}", "html": HTML}
        body = {"campaign_id": "news", "recipients": recipients, "content": content}
        assert service.request("POST", "/api/v1/transmissions", body).status == 200
    for each in range(SINGLES):
        service.send(f"{name}-single-{each}@inbox.test", html="<p>Your code is 1234</p>")
    eventually(lambda: _is_quiet(service), 300)


def _is_quiet(service: Service) -> bool:
    before = service.cloud_counts().writes
    time.sleep(2)
    return service.cloud_counts().writes - before < 4


def _expire(service: Service) -> int:
    path = f"/_postfinch/expire?now={time.time() + _LONG_FROM_NOW:.0f}"
    return int(service.cloud_get(path)["removed"])


if __name__ == "__main__":
    main()
