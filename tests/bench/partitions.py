"""Play the requests of a real run at 10,000 messages a second against the limits of AWS.

Two kinds of mail go through all functions in this process: a transmission to many recipients, and
transmissions to one recipient of an account with limits, each from another process. Both have a
campaign and a webhook that gets all events. ``recorded_run`` records each item that is read or
written. Every run is made twice, the second with twice as many messages: keys of which there are
then twice as many are spread, and all others get their share of all messages.

The simulator is here and not with the infrastructure because it needs a run, and serves only to
measure. What it takes from AWS's documentation are the constants below. That a partition splits
after a minute of heat is an assumption; no bar depends on it, because a single key never splits.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from chalicelib.accounts.store import accounts, meter
from chalicelib.accounts.store.usage_items import Share
from chalicelib.core import clock
from chalicelib.core.settings import settings
from chalicelib.metrics.store.pending import MOST_TOGETHER
from infrastructure.deployment.functions import functions
from tests.bench import costs
from tests.bench.cloud_service import cloud_service
from tests.bench.recorded_run import Place, Run, Work, recording
from tests.unit.people import limit

RATE = 10_000
MESSAGES = 10_000_000
BULK, SINGLE = 1_500, 250
HTML = "<html><body><h1>News for {{name}}</h1>" + "<p>Lorem ipsum dolor sit amet.</p>" * 160

# A partition of DynamoDB
MOST_WRITES, MOST_READS = 1_000, 3_000
#: Write units a second that a new table takes at once
FIRST_WRITES = 4_000
#: A table takes at once twice what it took at most within so many seconds before
DOUBLING_SECONDS = 1_800
SPLIT_SECONDS = 60
#: Calls at a time that Lambda adds for a queue each minute, and the most for one queue
ADDED_CALLS, MOST_CALLS = 300, 1_250
#: Seconds of an AWS request, and MiB of memory that buy a core
REQUEST_SECONDS, CORE_MEMORY = 0.006, 1_769
#: The part of a day's messages that its busiest hour has
BUSY_HOUR = 0.1

_SIZES = {each.name: each.size.memory for each in functions()}
_VARIABLE = re.compile(r"/\d+|[0-9a-f]{12,}|\d+")
_ROLLUP = "roll_up_metrics"


@dataclass(frozen=True)
class Load:
    """Two runs of the same kind of mail, with the number of messages of each."""

    name: str
    messages: int
    half: dict[str, Work]
    work: dict[str, Work]

    @cached_property
    def writes(self) -> dict[Place, float]:
        """The write units a message of each key that is not spread, and of all others of a table.

        The others of a table have an empty key.
        """
        return self._heat("writes")

    @cached_property
    def reads(self) -> dict[Place, float]:
        """The same of reads."""
        heat = self._heat("reads")
        # Each process reads what it caches again after a time, however many messages there are
        for name, work in self.work.items():
            for place in work.reads if name != "setup" else ():
                again = self.in_flight(name) / settings().key_cache_seconds / RATE
                if place in heat and place.table in ("config", "webhooks"):
                    heat[place] = max(heat[place], again)
        return heat

    def calls(self, name: str) -> float:
        """Return how often a function is called for a message."""
        if name == _ROLLUP:
            return self.calls("events") / MOST_TOGETHER
        return self.work[name].calls / self.messages

    def seconds(self, name: str) -> float:
        """Return how long a call of a function takes."""
        work = self.work[name]
        processor = work.processor / min(1, _SIZES[name] / CORE_MEMORY)
        seconds = processor + work.requests.total() * REQUEST_SECONDS
        if name == self._sending:
            seconds += self.messages * costs.HOST_SECONDS / min(costs.CONNECTIONS, self._together)
        return seconds / work.calls

    def in_flight(self, name: str, rate: float = RATE) -> float:
        """Return how many calls of a function run at a time."""
        return rate * self.calls(name) * self.seconds(name)

    def dollars(self) -> float:
        """Return the price of a million messages."""
        writes, reads = sum(self.writes.values()), sum(self.reads.values())
        requests: Counter[str] = Counter()
        for work in self.work.values():
            requests.update(work.requests)
        sqs = sum(n for name, n in requests.items() if name.startswith("sqs.")) / self.messages
        gb_seconds = calls = 0.0
        for name in self.names:
            calls += self.calls(name)
            gb_seconds += self.calls(name) * self.seconds(name) * _SIZES[name] / 1024
        each = writes * costs.WRITE_UNIT + reads * costs.READ_UNIT + sqs * costs.SQS_REQUEST
        each += gb_seconds * costs.GB_SECOND + calls * costs.CALL
        return (each + self.calls("api_handler") * costs.API_REQUEST) * 1e6

    @property
    def names(self) -> list[str]:
        """The functions that worked."""
        return [name for name in self.work if name != "setup"]

    @property
    def _sending(self) -> str:
        return "delivery" if "delivery" in self.work else "generation"

    @property
    def _together(self) -> float:
        return self.messages / self.work[self._sending].calls

    def _heat(self, kind: str) -> dict[Place, float]:
        halves, totals = (self._units(work, kind) for work in (self.half, self.work))
        counts = [Counter(map(_pattern, units)) for units in (halves, totals)]
        single = {_pattern(place): units for place, units in halves.items()}
        together: Counter[tuple[str, str]] = Counter()
        for place, units in totals.items():
            together[_pattern(place)] += units
        heat: dict[Place, float] = defaultdict(float)
        for place, units in totals.items():
            pattern = _pattern(place)
            if counts[1][pattern] > 1.5 * counts[0][pattern]:
                heat[place._replace(key="")] += units / self.messages
            elif counts[1][pattern] == counts[0][pattern] == 1:
                # What comes once, whatever the number of messages, is in both runs
                heat[place] = max(0.0, units - single[pattern]) / (self.messages / 2)
            else:
                # Shards are drawn at random: so few messages do not fill them evenly, many do
                heat[place] = together[pattern] / counts[1][pattern] / self.messages
        return heat

    def _units(self, works: dict[str, Work], kind: str) -> dict[Place, float]:
        units: dict[Place, float] = defaultdict(float)
        for name, work in works.items():
            if name == "setup":
                continue
            factor = 1.0
            if name == _ROLLUP:  # one rollup of this run stands for one of ninety deltas
                factor = self.calls(_ROLLUP) * self.messages / work.calls
            for place, each in getattr(work, kind).items():
                units[place] += each * factor
        return units


class TablePlay:
    """The partitions of one table, which take the writes of a load."""

    def __init__(self, heat: dict[str, float], writes: float) -> None:
        self._uniform = heat.get("", 0.0)
        self._keys = {_hash(key): units for key, units in heat.items() if key}
        self._capacity = writes
        self._bounds = [number / self._count(writes) for number in range(self._count(writes))]
        self._hot_since: dict[float, int] = {}
        self._peak = 0.0

    def most(self, second: int, rate: float) -> float:
        """Return how many of ``rate`` messages a second the table takes."""
        total = self._uniform + sum(self._keys.values())
        if total == 0:
            return rate
        if second and second % DOUBLING_SECONDS == 0:
            self._capacity = max(self._capacity, 2 * self._peak)
        possible = min(rate, self._capacity / total)
        ends = [*self._bounds[1:], 1.0]
        for begin, end in zip(list(self._bounds), ends, strict=True):
            load = self._uniform * (end - begin)
            load += sum(units for at, units in self._keys.items() if begin <= at < end)
            if load * rate <= MOST_WRITES:
                self._hot_since.pop(begin, None)
                continue
            possible = min(possible, MOST_WRITES / load)
            if second - self._hot_since.setdefault(begin, second) >= SPLIT_SECONDS:
                self._bounds = sorted([*self._bounds, (begin + end) / 2])
                self._hot_since.pop(begin)
        self._peak = max(self._peak, possible * total)
        return possible

    def _count(self, writes: float) -> int:
        return max(1, math.ceil(writes / MOST_WRITES))


def main() -> None:
    """Record the runs and play them."""
    for load in record():
        _print(load)
        _print_volumes(load)


def record() -> Iterator[Load]:
    """Yield the load of a bulk send, and that of single sends of an account with limits."""
    with cloud_service() as service:
        key = service.key
        limit(1, hourly=10**9)
        with recording() as run:
            run.post(key, "/api/v1/webhooks", service.webhook())
        runs = [_bulk(key, count) for count in (BULK, 2 * BULK)]
        yield Load("one transmission", 2 * BULK, *runs)
        _fill_shares()
        runs = [_single(key, count) for count in (SINGLE, 2 * SINGLE)]
        yield Load("single sends of one account with limits", 2 * SINGLE, *runs)


def _bulk(key: str, count: int) -> dict[str, Work]:
    recipients = [
        {"address": f"r{i}@domain-{i % 50}.test", "substitution_data": {"name": f"Reader {i}"}}
        for i in range(count)
    ]
    with recording() as run:
        run.post(key, "/api/v1/transmissions", _transmission(recipients))
        return _finish(run)


def _single(key: str, count: int) -> dict[str, Work]:
    with recording() as run:
        for i in range(count):
            meter.clear_cache()  # another process, which uses another share
            recipient = {"address": f"s{i}@domain-{i % 50}.test"}
            run.post(key, "/api/v1/transmissions", _transmission([recipient]))
        return _finish(run)


def _fill_shares() -> None:
    """Fill all shares of the account: a process does that once an hour, and each 1,000 recipients.

    The runs would fill them for a few hundred recipients.
    """
    limits = accounts.get_cached(1).limits(clock.now())
    for number in range(meter.SHARES):
        meter.Meter(1, number, limits, Share()).reserve(0, [])


def _finish(run: Run) -> dict[str, Work]:
    run.drain()
    run.call(_ROLLUP)
    return dict(run.recorder.work)


def _transmission(recipients: Sequence[object]) -> dict[str, object]:
    content = {"from": "news@example.test", "subject": "News for {{name}}", "html": HTML}
    return {"campaign_id": "news", "recipients": recipients, "content": content}


def _print(load: Load) -> None:
    print(f"-- {load.name}, at {RATE:,} messages a second")
    for kind, heat, most in (
        ("write", load.writes, MOST_WRITES),
        ("read", load.reads, MOST_READS),
    ):
        tables = sorted({place.table for place in heat})
        for table in tables:
            own = {place.key: units for place, units in heat.items() if place.table == table}
            hottest = max((key for key in own if key), key=own.__getitem__, default="")
            units = own.get(hottest, 0.0) * RATE if hottest else 0.0
            total = sum(own.values()) * RATE
            verdict = f"[{'holds' if units <= most else 'FAILS'}: at most {most:,}]"
            print(
                f"  {table}: {total:,.0f} {kind} units a second; "
                f"hottest key {units:,.0f} ({hottest or 'all are spread'}) {verdict}"
            )
    for name in load.names:
        print(
            f"  {name}: {load.calls(name) * RATE:,.0f} calls a second of "
            f"{load.seconds(name):.2f} s: {load.in_flight(name):,.0f} at a time"
        )
    cold, warm = (_minutes(load, warm=warm) for warm in (False, True))
    print(
        f"  {MESSAGES:,} messages are sent after {warm:.0f} minutes with tables that are warm, "
        f"after {cold:.0f} with new ones; ${load.dollars():.2f} a million"
    )


def _minutes(load: Load, *, warm: bool) -> float:
    """Return the minutes until all messages are sent."""
    heats: dict[str, dict[str, float]] = defaultdict(dict)
    for place, units in load.writes.items():
        heats[place.table][place.key] = units
    tables = [
        TablePlay(heat, max(FIRST_WRITES, warm * 1.5 * RATE * sum(heat.values())))
        for heat in heats.values()
    ]
    queued = [name for name in load.names if name not in ("api_handler", _ROLLUP)]
    remaining, second = float(MESSAGES), 0
    while remaining > 0:
        rate = float(RATE)
        calls = min(MOST_CALLS, ADDED_CALLS * (1 + second // 60))
        for name in queued:
            rate = min(rate, RATE * calls / max(load.in_flight(name), 1e-9))
        for table in tables:
            rate = min(rate, table.most(second, rate))
        remaining -= rate
        second += 1
    return second / 60


def _print_volumes(load: Load) -> None:
    """Print what the busiest hour of some days needs."""
    print("  | messages a day | a second | functions at a time | write units a second |")
    for volume in (10**6, 10**7, 10**8):
        rate = volume * BUSY_HOUR / 3600
        concurrency = sum(load.in_flight(name, rate) for name in load.names)
        by_table: Counter[str] = Counter()
        for place, units in load.writes.items():
            by_table[place.table] += units * rate
        table, units = by_table.most_common(1)[0]
        print(
            f"  | {volume:,} | {rate:,.0f} | {concurrency:,.0f} | {units:,.0f} (`{table}`), "
            f"{by_table.total():,.0f} of all |"
        )


def _pattern(place: Place) -> tuple[str, str]:
    return place.table, _VARIABLE.sub(lambda part: "" if part[0][0] == "/" else "*", place.key)


def _hash(key: str) -> float:
    """Return where a key is among all hashes, from 0 to 1."""
    return int.from_bytes(hashlib.md5(key.encode()).digest()[:6], "big") / 2**48


if __name__ == "__main__":
    main()
