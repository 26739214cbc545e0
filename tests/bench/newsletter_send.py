"""Measure a newsletter to 10,000 recipients until its last event, and single sends of 8 clients.

The newsletter has 40 paragraphs, each with a link that contains the reader's own data; opens and
clicks are tracked. Rates are divided by the RSA-2048 signatures that one core makes in a second,
and the processor time of each kind of process is given in such signatures a message: these figures
can be compared between machines.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import process_time
from typing import Any

import psutil
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

from tests.journey.service import Service, eventually

NEWSLETTER_BAR = 0.30
SINGLE_BAR = 0.09
#: The most processor time in signatures a message: of all processes, and of the local cloud
NEWSLETTER_COST_BAR = 8.0
SINGLE_COST_BAR = 20.0
SINGLE_CLOUD_BAR = 5.0
_RECIPIENTS = 10_000
_PARAGRAPHS = 40
_SINGLES = 800
_CLIENTS = 8
_WORDS = "Lorem ipsum dolor sit amet, consetetur sadipscing elitr, sed diam nonumy eirmod tempor. "


def main(recipients: int = _RECIPIENTS, singles: int = _SINGLES) -> None:
    """Print both rates with their bars, and what a message costs in each kind of process."""
    with tempfile.TemporaryDirectory() as directory, Service(Path(directory)) as service:
        service.send("warm-up@inbox.test")
        eventually(lambda: _deliveries(service) == 1)
        rate = signatures_a_second()
        seconds, spent = _timed(service, lambda: _send_newsletter(service, recipients), recipients)
        costs = _report("newsletter", recipients, seconds, spent, rate, NEWSLETTER_BAR)
        _judge("all processes", sum(costs.values()), NEWSLETTER_COST_BAR)
        seconds, spent = _timed(service, lambda: _send_singles(service, singles), singles)
        title = "single transmissions, 8 clients"
        costs = _report(title, singles, seconds, spent, rate, SINGLE_BAR)
        _judge("all processes", sum(costs.values()), SINGLE_COST_BAR)
        _judge("the cloud", costs["cloud"], SINGLE_CLOUD_BAR)


def seconds_of_singles(service: Service, count: int) -> float:
    """Send single transmissions of 8 clients; return the seconds until all are recorded."""
    seconds, _ = _timed(service, lambda: _send_singles(service, count), count)
    return seconds


def signatures_a_second() -> float:
    """Return the RSA-2048 signatures of one core for each second of its processor time."""
    key = generate_private_key(65537, 2048)
    rates = []
    for _ in range(20):
        began = process_time()
        for _ in range(100):
            key.sign(b"x" * 700, PKCS1v15(), SHA256())
        rates.append(100 / (process_time() - began))
    return max(rates)


def _timed(
    service: Service, send: Callable[[], None], messages: int
) -> tuple[float, Mapping[str, float]]:
    """Return the seconds until all messages' deliveries are recorded, and processor seconds."""
    deliveries, before = _deliveries(service), _processor_seconds(service)
    began = time.monotonic()
    send()
    # Searches are work as well, so the sink shows the progress first
    eventually(lambda: service.mailbox_count() >= deliveries + messages, 600)
    eventually(lambda: _deliveries(service) == deliveries + messages, 120)
    seconds = time.monotonic() - began
    after = _processor_seconds(service)
    return seconds, {name: after[name] - before.get(name, 0.0) for name in after}


def _send_newsletter(service: Service, count: int) -> None:
    paragraphs = "".join(
        f"<p>{_WORDS * 2}Dear {{{{name}}}}: "
        f'<a href="https://shop.example/p/{number}?utm_source=news&amp;reader={{{{id}}}}">Look</a></p>\n'
        for number in range(_PARAGRAPHS)
    )
    body = {
        "options": {"open_tracking": True, "click_tracking": True},
        "recipients": [
            {
                "address": f"reader-{number}@inbox.test",
                "substitution_data": {"name": f"Reader {number}", "id": f"r{number:07d}"},
            }
            for number in range(count)
        ],
        "content": {
            "from": "news@example.test",
            "subject": "News for {{name}}",
            "html": f"<html><body><h1>News for {{{{name}}}}</h1>\n{paragraphs}</body></html>\n",
        },
    }
    _post(service, body)


def _send_singles(service: Service, count: int) -> None:
    def send(number: int) -> None:
        content = {"from": "shop@example.test", "subject": f"Order {number}", "text": "Thank you."}
        recipients = [{"address": f"buyer-{number}@inbox.test"}]
        _post(service, {"recipients": recipients, "content": content})

    with ThreadPoolExecutor(_CLIENTS) as clients:
        list(clients.map(send, range(count)))


def _post(service: Service, body: dict[str, Any]) -> None:
    response = service.request("POST", "/api/v1/transmissions", body)
    if response.status != 200:
        raise SystemExit(f"refused with {response.status}: {response.body[:300]!r}")


def _deliveries(service: Service) -> int:
    response = service.request("GET", "/api/v1/events/message?events=delivery&per_page=1")
    count: int = response.json["total_count"]
    return count


def _processor_seconds(service: Service) -> dict[str, float]:
    """Return the processor seconds of the service's processes, by name."""
    seconds: dict[str, float] = {}
    for process in service.family():
        try:
            name, times = process.name(), process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        seconds[name] = seconds.get(name, 0.0) + times.user + times.system
    return seconds


def _report(
    title: str, messages: int, seconds: float, spent: Mapping[str, float], rate: float, bar: float
) -> Mapping[str, float]:
    share = messages / seconds / rate
    verdict = "holds" if share >= bar else "FAILS"
    print(
        f"{title}: {messages} in {seconds:.1f} s = {messages / seconds:.0f} messages/s = "
        f"{share:.3f} of {rate:,.0f} signatures/s [{verdict}: {bar:.2f}]"
    )
    costs = {name: each * rate / messages for name, each in spent.items()}
    each = ", ".join(f"{name} {cost:.1f}" for name, cost in sorted(costs.items()) if cost >= 0.05)
    print(f"  processor time, in signatures a message: {sum(costs.values()):.1f} = {each}")
    return costs


def _judge(name: str, cost: float, bar: float) -> None:
    verdict = "holds" if cost <= bar else "FAILS"
    print(f"  {name}: {cost:.1f} [{verdict}: at most {bar:.0f}]")


if __name__ == "__main__":
    main()
