"""Measure the mailbox with 100,000 messages: lists, searches and counts, and what memory it takes.

One process stores messages of about 5 KB, another one serves ``/local/mailbox`` by HTTP and works
out details, as in a local service. Each search is made several times; the first time counts too,
because an answer may be remembered. The bars are those of the figures for any of them.

``python -m tests.bench.mailbox MESSAGES`` takes another number of messages.
"""

from __future__ import annotations

import base64
import http.client
import json
import multiprocessing
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import psutil  # type: ignore[import-untyped]

from infrastructure.local.gateway.activity import Activity
from infrastructure.local.gateway.application import Gateway, server
from infrastructure.local.gateway.local_api import LocalApi
from infrastructure.local.gateway.mailbox_endpoint import MailboxEndpoint
from infrastructure.local.gateway.mailbox_upkeep import MailboxUpkeep
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.mailbox.vocabulary import BLOCK_BITS
from infrastructure.local.mailpit.query import mailpit_conditions_of
from infrastructure.local.messages.details import Detailer
from tests.free_ports import free_port

MESSAGES = 100_000
FIRST_MESSAGES = 1000
MILLISECONDS_BAR = 100.0
MEGABYTES_BAR = 16.0
STORED_BAR = 2000.0
REPEATS = 5
_DEADLINE_SECONDS = 150.0
_PACE_SECONDS = 15.0
_SEARCHES = (
    *("", "to:reader4711@", 'to:"reader4711@inbox.test"', "to:*@inbox.test", "-to:reader"),
    *("from:shop7@", "subject:4711", "subject:shipped", "-subject:shipped", "needle", "delivered"),
    *("-delivered", "reader4711@inbox.test", "absent-word", "e", "tag:vip", "-tag:vip"),
    *("is:unread", "is:read", "has:attachment", "-has:attachment", "inbox:box7", "larger:4k"),
    *("before:2099-01-01", "after:2099-01-01", "is:unread delivered from:shop7@ -subject:99"),
    *('"has been delivered"', "shop.example", "subaccount:3"),
)


def main(number: int = MESSAGES) -> None:
    """Fill a mailbox and print the figures with their bars."""
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory) / "mail"
        SinkMailbox(root).close()
        with _served(root) as (port, process):
            _store(root, 0, FIRST_MESSAGES)
            _wait_for_details(root)
            _searches(port, 1)
            before = _megabytes(process)
            _store(root, FIRST_MESSAGES, number)
            _work_out(root, process)
            figures = _searches(port, REPEATS)
            after = _megabytes(process)
        _print("lists and searches by HTTP", figures)
        with closing(SinkMailbox(root)) as mailbox:
            _print("counts and pages by number", _counts(mailbox, number))
        _verdict(
            f"memory of the process that serves: {before:.0f} MB with {FIRST_MESSAGES:,}"
            f" messages, {after:.0f} MB with {number:,}",
            after - before,
            MEGABYTES_BAR,
        )


def _verdict(text: str, value: float, bar: float) -> None:
    print(f"{text} [{'holds' if value <= bar else 'FAILS'}: at most {bar:g} more]")


def _print(name: str, figures: dict[str, list[float]]) -> None:
    """Print the median and the worst time of each search, the slowest ones first."""
    worst = max(max(each) for each in figures.values())
    median = statistics.median(value for each in figures.values() for value in each)
    verdict = "holds" if worst <= MILLISECONDS_BAR else "FAILS"
    print(
        f"{name}: median {median:.1f} ms, worst {worst:.1f} ms"
        f" [{verdict}: at most {MILLISECONDS_BAR:g}]"
    )
    for search, values in sorted(figures.items(), key=lambda pair: -max(pair[1]))[:8]:
        name = search or "(all)"
        print(f"  {name}: median {statistics.median(values):.1f} ms, worst {max(values):.1f} ms")


def _searches(port: int, repeats: int) -> dict[str, list[float]]:
    figures: dict[str, list[float]] = {}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for search in _SEARCHES:
        path = "/local/mailbox?" + urlencode({"q": search, "details": "true", "limit": 50})
        figures[search] = [_milliseconds(_get, connection, path) for _ in range(repeats)]
    path = "/local/inboxes"
    figures[path] = [_milliseconds(_get, connection, path) for _ in range(repeats)]
    return figures


def _get(connection: http.client.HTTPConnection, path: str) -> None:
    connection.request("GET", path)
    response = connection.getresponse()
    content = json.loads(response.read())
    assert response.status == 200, content


def _counts(mailbox: SinkMailbox, number: int) -> dict[str, list[float]]:
    index = mailbox.index
    figures: dict[str, list[float]] = {}
    for search in _SEARCHES:
        conditions = mailpit_conditions_of(search)
        repeated = [_milliseconds(index.count, conditions) for _ in range(REPEATS)]
        figures[f"count of {search}"] = repeated
    for start in (number // 2, number - 50):
        values = [_milliseconds(index.search, [], 50, offset=start) for _ in range(REPEATS)]
        figures[f"start={start}"] = values
    return figures


def _milliseconds(call: Callable[..., Any], *values: Any, **options: Any) -> float:
    began = time.perf_counter()
    call(*values, **options)
    return (time.perf_counter() - began) * 1000


def _store(root: Path, start: int, end: int) -> None:
    """Store messages in a process of their own; print what it took if they are many."""
    context = multiprocessing.get_context("spawn")
    queue: Any = context.Queue()
    process = context.Process(target=_fill, args=(root, start, end, queue))
    process.start()
    seconds, growth = queue.get(timeout=_DEADLINE_SECONDS)
    process.join()
    if end - start < 10_000:
        return
    rate = (end - start) / seconds
    verdict = "holds" if rate >= STORED_BAR else "FAILS"
    print(f"storing: {rate:.0f} messages a second [{verdict}: at least {STORED_BAR:g}]")
    _verdict(f"memory of the process that stores: {growth:.1f} MB more", growth, MEGABYTES_BAR)


def _fill(root: Path, start: int, end: int, queue: Any) -> None:
    mailbox = SinkMailbox(root)
    numbers = random.Random(start)
    before, began = 0.0, time.perf_counter()
    for number in range(start, end):
        recipient = f"reader{number}@inbox.test"
        trace = Trace(
            "bounces@shop.example",
            (recipient,),
            inbox=f"box{number % 100}",
            tags=("vip",) if number % 10 == 0 else (),
        )
        mailbox.store(trace, _message(number, recipient, numbers))
        if number == start + 500:
            before = _megabytes(psutil.Process())
    queue.put((time.perf_counter() - began, _megabytes(psutil.Process()) - before))


_WORDS = tuple(
    "".join(random.Random(n).choices("abcdefghiklmnoprstuvw", k=3 + n % 8)) for n in range(8000)
)
_LINES = [" ".join(random.Random(n).choices(_WORDS, k=10)) for n in range(4000)]


def _message(number: int, recipient: str, numbers: random.Random) -> bytes:
    """Return a message of about 5 KB, with words of its own."""
    lines = [*numbers.choices(_LINES, k=60)]
    lines += [f"Your order {number} has been delivered to your door."]
    lines += [f"https://shop.example/orders/{numbers.getrandbits(64):x}"]
    lines += ["There is a needle here."] if number % 9973 == 0 else []
    content = "\r\n".join(lines)
    shop = f"Shop {number % 50} <shop{number % 50}@shop.example>"
    return (
        f"From: {shop}\r\nTo: Reader {number} <{recipient}>\r\nSubject: Order {number} has shipped"
        f"\r\nMessage-ID: <{number}@shop.example>\r\nDate: Sat, 28 Nov 2026 18:00:00 +0000\r\n"
        f"MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{content}\r\n"
    ).encode()


def _work_out(root: Path, process: psutil.Process) -> None:
    """Print the pace at which details are worked out in the background; then help with them."""
    with closing(SinkMailbox(root)) as mailbox:
        began, cpu, before = time.monotonic(), _cpu_seconds(process), _undetailed(root)
        time.sleep(_PACE_SECONDS)
        seconds = time.monotonic() - began
        share = (_cpu_seconds(process) - cpu) / seconds
        pace = (before - _undetailed(root)) / seconds
        print(f"details: {pace:.0f} messages a second, with {share:.0%} of one processor")
        detailer = Detailer(mailbox, lambda _: {})
        while detailer.add_some(100):
            pass
        # From the other end than the process that serves
        for number in reversed(range(mailbox.index.newest() >> BLOCK_BITS)):
            if (oldest := mailbox.index.unbuilt_block()) is None or number <= oldest:
                break
            for _ in mailbox.index.build_block(number):
                pass
    _wait_for_details(root)


def _undetailed(root: Path) -> int:
    query = "SELECT count(*) FROM messages WHERE NOT detailed"
    with closing(sqlite3.connect(root / "index.sqlite3")) as database:
        return int(database.execute(query).fetchone()[0])


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _wait_for_details(root: Path) -> None:
    began = time.monotonic()
    with closing(SinkMailbox(root)) as mailbox:
        while mailbox.index.undetailed(None, 1) or mailbox.index.unbuilt_block() is not None:
            assert time.monotonic() - began < _DEADLINE_SECONDS, "details take too long"
            time.sleep(0.2)


@contextmanager
def _served(root: Path) -> Iterator[tuple[int, psutil.Process]]:
    port = free_port()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(root, port))
    process.start()
    try:
        for _ in range(200):
            try:
                _get(http.client.HTTPConnection("127.0.0.1", port), "/local/inboxes")
                break
            except OSError:
                time.sleep(0.1)
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.join()


def _serve(root: Path, port: int) -> None:
    # Cursors are signed with it
    os.environ["SECRET_KEY"] = base64.b64encode(bytes(32)).decode()
    mailbox, activity = SinkMailbox(root), Activity()
    detailer = Detailer(mailbox, lambda _: {})
    endpoint = MailboxEndpoint(mailbox, detailer)
    gateway = Gateway(
        cast("Any", None),
        max_body_bytes=1_000_000,
        extra={"/local": LocalApi(endpoint.routes())},
        companions=[MailboxUpkeep(mailbox, detailer, activity)],
        activity=activity,
    )
    server(gateway, host="127.0.0.1", port=port).run()


def _megabytes(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / 1_000_000


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
