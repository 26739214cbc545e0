"""Measure what the local cloud's log costs, and the start of a service with a month behind it.

Writes a second: one client puts items of 450 bytes, one request each, with the log and without. The
processor time of the cloud for a request is judged, since the client takes most of the time.

The month: the items of a run of 2,200 messages are copied until there are a million messages, whose
ages are spread over the last thirty days. The cloud starts with them as its base, so what has
expired is not read.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from infrastructure.local.cloud.changes import Change
from infrastructure.local.cloud.state_files import StateFiles
from tests.bench import local_memory
from tests.journey.service import Service
from tests.unit.infrastructure.clouds import DEADLINE, LocalCloud

WRITES = 4_000
# Processor time with the log, compared with that without it
LOG_BAR = 1.25
MESSAGES = 1_000_000
DAYS = 30
START_BAR = 5.0
MEGABYTES_BAR = 500.0
_DAY = 86_400
# Of the path of an item or message
_ITEM_LENGTH = 6

# The local cloud as it would be if nothing were written
WITHOUT_LOG = """
from infrastructure.local.cloud import journal, server
journal.Journal.commit = lambda self: self._changes.clear()
server.main()
"""


def main() -> None:
    """Print the figures with their bars."""
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    _measure_writes()
    _measure_month()


def _measure_writes() -> None:
    costs = {}
    for name, program in (("without", WITHOUT_LOG), ("with", "")):
        with tempfile.TemporaryDirectory() as directory:
            cloud = LocalCloud(Path(directory))
            cloud.start(program=program)
            try:
                rate, costs[name] = _puts(cloud)
            finally:
                cloud.close()
        print(f"{name} the log: {rate:.0f} writes a second, {costs[name] * 1e6:.0f} us each")
    _judge("the log makes a write cost", costs["with"] / costs["without"], "times", LOG_BAR)


def _puts(cloud: LocalCloud) -> tuple[float, float]:
    """Return how many items are put in a second, and the cloud's processor seconds for each."""
    client = cloud.client("dynamodb")
    client.create_table(
        TableName="table",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    )
    assert cloud.process is not None
    process = psutil.Process(cloud.process.pid)
    began, busy = time.perf_counter(), sum(process.cpu_times()[:2])
    for number in range(WRITES):
        item = {"pk": {"S": str(number)}, "text": {"S": "x" * 400}}
        client.put_item(TableName="table", Item=item)
    seconds = time.perf_counter() - began
    return WRITES / seconds, (sum(process.cpu_times()[:2]) - busy) / WRITES


def _measure_month() -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        service = Service(root / "service")
        service.data_dir.mkdir(exist_ok=True, parents=True)
        try:
            service.start(COUNT_REQUESTS="1")
            local_memory.send_load(service, "month")
        finally:
            service.stop()
        state = root / "cloud" / "state"
        shutil.copytree(service.data_dir / "cloud" / "state", state)
        _write_month(state)
        size = sum(path.stat().st_size for path in state.iterdir() if path.is_file()) / 1e6
        print(f"the state of {MESSAGES} messages in {DAYS} days has {size:.0f} MB")
        cloud = LocalCloud(root / "cloud")
        began = time.monotonic()
        cloud.start(patience=6 * DEADLINE)
        seconds = time.monotonic() - began
        assert cloud.process is not None
        process = psutil.Process(cloud.process.pid)
        busy, memory = sum(process.cpu_times()[:2]), process.memory_info().rss / 1e6
        cloud.close()
    print(f"the cloud starts in {seconds:.1f} s")
    _judge("of which it works", busy, "s", START_BAR)
    _judge("and takes", memory, "MB", MEGABYTES_BAR)


def _write_month(root: Path) -> None:
    """Copy the items under ``root`` into a base of as many as a million messages leave."""
    files = StateFiles(root)
    changes: dict[tuple[str, ...], Change] = {}
    for change in (*files.base_changes(0), *files.log_changes()):
        if change.value is not None:
            changes[change.path] = change
        elif len(change.path) == _ITEM_LENGTH:
            changes.pop(change.path, None)
    files.open_log().seal()
    files.start_next_log()
    files.write_base(_month(changes))
    files.remove_superseded()


def _month(changes: dict[tuple[str, ...], Change]) -> Iterator[Change]:
    ages = random.Random(1)
    yield from changes.values()
    items = [change for path, change in changes.items() if path[0] == "item" and change.expires]
    for copy in range(1, MESSAGES // local_memory.MESSAGES):
        age = int(ages.random() * DAYS * _DAY)
        for change in items:
            assert change.value is not None
            pk = change.path[4]
            new_pk = f"{pk}~{copy}"
            value = change.value.replace(json.dumps(pk).encode(), json.dumps(new_pk).encode())
            yield Change((*change.path[:4], new_pk, change.path[5]), value, change.expires - age)


def _judge(name: str, value: float, unit: str, bar: float) -> None:
    verdict = "holds" if value <= bar else "FAILS"
    print(f"{name} {value:.2f} {unit} [{verdict}: at most {bar}]")


if __name__ == "__main__":
    main()
