"""Measure what the local cloud's database costs: writes, durability, starts and space.

Writes: one client puts items of 450 bytes, one request each; the processor time of the cloud is
printed. Durability: single transmissions of 8 clients, with each answer synchronized with the disk,
compared with a synchronization each second. Starts: ten million items are stored, and the start of
the cloud is compared with that on an empty directory. Space: nine of ten items expire, and the file
is shrunk while the cloud runs.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from infrastructure.local.cloud.store import NAME
from tests.bench import newsletter_send
from tests.bench.timing import alternating
from tests.journey.service import Service
from tests.unit.infrastructure.clouds import DEADLINE, LocalCloud

WRITES = 4_000
ITEMS = 10_000_000
#: Of the singles that are sent with each answer synchronized, to those without
DURABLE_BAR = 0.6
START_BAR = 1.0
MEGABYTES_BAR = 120.0
SPACE_BAR = 0.3
_SINGLES, _ROUNDS = 400, 3
_TABLE = "table"
_FAR = 400 * 86_400


def main(items: int = ITEMS) -> None:
    """Print the figures with their bars."""
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "000000000000",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "COUNT_REQUESTS": "1",
    }
    _measure_writes()
    _measure_durability()
    _measure_starts(items)


def _measure_writes() -> None:
    with tempfile.TemporaryDirectory() as directory:
        cloud = LocalCloud(Path(directory))
        cloud.start()
        try:
            client = _create_table(cloud)
            process = _process(cloud)
            began, busy = time.perf_counter(), sum(process.cpu_times()[:2])
            for number in range(WRITES):
                item = {"pk": {"S": str(number)}, "text": {"S": "x" * 400}}
                client.put_item(TableName=_TABLE, Item=item)
            seconds = time.perf_counter() - began
            cost = (sum(process.cpu_times()[:2]) - busy) / WRITES
        finally:
            cloud.close()
    print(f"{WRITES / seconds:.0f} writes a second of one client, {cost * 1e6:.0f} us each")


def _measure_durability() -> None:
    with tempfile.TemporaryDirectory() as directory:
        services = {name: Service(Path(directory) / name) for name in ("second", "answer")}
        try:
            for name, service in services.items():
                service.data_dir.mkdir()
                service.start(LOCAL_DURABILITY=name)
                service.send("warm-up@inbox.test")
            tasks = {name: partial(_single_rate, each) for name, each in services.items()}
            rates = alternating(tasks, _ROUNDS)
        finally:
            for service in services.values():
                service.stop()
    answer, second = median(rates["answer"]), median(rates["second"])
    print(f"singles: {second:.0f}/s, with each answer synchronized {answer:.0f}/s")
    _judge("of the rate is kept", answer / second, "", DURABLE_BAR, at_least=True)


def _single_rate(service: Service) -> float:
    seconds = newsletter_send.seconds_of_singles(service, _SINGLES)
    return _SINGLES / seconds


def _measure_starts(items: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        cloud = LocalCloud(Path(directory))
        cloud.start()
        client = _create_table(cloud)
        ttl = {"Enabled": True, "AttributeName": "expires"}
        client.update_time_to_live(TableName=_TABLE, TimeToLiveSpecification=ttl)
        cloud.stop()
        empty, _ = _start(cloud)
        path = cloud.data / NAME
        _fill(path, items)
        full, megabytes = _start(cloud)
        size = path.stat().st_size / 1e6
        print(f"{items:,} items take {size:,.0f} MB; an empty start {empty:.2f} s")
        _judge("a start takes", full - empty, "s more", START_BAR)
        _judge("and the cloud", megabytes, "MB", MEGABYTES_BAR)
        cloud.start(patience=DEADLINE)
        began = time.monotonic()
        removed = cloud.get(f"/_postfinch/expire?now={time.time() + _FAR:.0f}")["removed"]
        print(f"{removed:,} items expired in {time.monotonic() - began:.0f} s")
        cloud.get("/_postfinch/shrink")
        cloud.stop()
        _judge("of the file is left", path.stat().st_size / 1e6 / size, "", SPACE_BAR)


def _fill(path: Path, items: int) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA synchronous = OFF")
        database.executemany(
            "INSERT INTO items_1 (pk, sk, expires, size, item) VALUES (?, ?, ?, ?, ?)",
            _rows(items),
        )


def _rows(items: int) -> Iterator[tuple[str, str, int, int, str]]:
    soon, late = int(time.time()) + _FAR // 2, int(time.time()) + 2 * _FAR
    for number in range(items):
        pk, expires = f"transmission#{number:012d}", late if number % 10 == 0 else soon
        text = f'{{"pk":{{"S":"{pk}"}},"expires":{{"N":"{expires}"}},"text":{{"S":"{"x" * 60}"}}}}'
        yield pk, "", expires, 100, text


def _start(cloud: LocalCloud) -> tuple[float, float]:
    """Start and stop the cloud; return the seconds that the start took, and its megabytes."""
    began = time.monotonic()
    cloud.start(patience=DEADLINE)
    seconds = time.monotonic() - began
    megabytes = _process(cloud).memory_info().rss / 1e6
    cloud.stop()
    return seconds, megabytes


def _create_table(cloud: LocalCloud) -> Any:
    client = cloud.client("dynamodb")
    client.create_table(
        TableName=_TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    return client


def _process(cloud: LocalCloud) -> psutil.Process:
    assert cloud.process is not None
    return psutil.Process(cloud.process.pid)


def _judge(name: str, value: float, unit: str, bar: float, *, at_least: bool = False) -> None:
    holds = value >= bar if at_least else value <= bar
    verdict, side = "holds" if holds else "FAILS", "least" if at_least else "most"
    print(f"{name} {value:.2f} {unit} [{verdict}: at {side} {bar}]")


if __name__ == "__main__":
    main()
