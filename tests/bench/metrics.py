"""Measure counting events and reading reports on the local cloud.

Reports read an account with six months of counters, of 50 domains and 1,000 campaigns, each of
which is sent on ten days. The benchmark writes the counters that the reports read directly, as a
rollup stores them, because counting that many events would take hours. Requests are counted at the
client.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from chalicelib.core import clock, ids
from chalicelib.core.dynamo import Item
from chalicelib.core.http import Request
from chalicelib.core.message_event import Event
from chalicelib.core.request import Caller
from chalicelib.core.scope import Scope
from chalicelib.events.model import Sender, make_event, recipient_fields
from chalicelib.metrics import reports
from chalicelib.metrics.levels import DAY, HOUR, MINUTE, Level
from chalicelib.metrics.model import BY_FILTER_KEY, CAMPAIGN, DOMAIN, METRICS
from chalicelib.metrics.precision import SERIES
from chalicelib.metrics.request import ReportRequest, read
from chalicelib.metrics.rollup import roll_up_pending
from chalicelib.metrics.store import counters
from chalicelib.metrics.totals import totals
from chalicelib.recording import store
from chalicelib.recording.commit import commit
from tests.bench.local_cloud import counted, local_cloud

MOST_REQUESTS = 40
MOST_REQUESTS_PER_EVENT = 0.05
DOMAINS = [f"domain-{n:02d}.example" for n in range(50)]
CAMPAIGNS = [f"campaign-{n:04d}" for n in range(1000)]
HISTORY = 184
LARGE, SMALL, BUSY = 1, 2, 3

#: 10:07 of today, so that a window of 24 hours begins and ends within an hour
NOW = datetime.now(UTC).replace(hour=10, minute=7, second=0, microsecond=0)
_CODES = "i d d1 y y1 b bh bs ob sc o no io nio c uo nuo ui nui uc nuc uk lu vol t1 t2".split()  # noqa: SIM905
_COUNTS = dict.fromkeys(_CODES, 123_456)


def main() -> None:
    """Measure and print the figures."""
    with local_cloud(), clock.use(NOW.timestamp):
        _measure_counting()
        began = time.monotonic()
        counter_count = _fill()
        print(f"-- reports; {counter_count} counters written in {time.monotonic() - began:.0f} s")
        _measure_reports()
        _measure_combinations()


def _measure_counting() -> None:
    print("-- counting")
    for account, recipients in ((SMALL, 500), (BUSY, 500_000)):
        events = _bulk(account, recipients)
        count = 2 * recipients
        with counted() as requests:
            while batch := list(islice(events, 1000)):
                commit(batch, store.read(map(store.key_of, batch)))
            recording = len(requests.operations)
            roll_up_pending()
        each = len(requests.operations) / count
        print(
            f"{count:9,} events of a bulk send to {len(DOMAINS)} domains: "
            f"{recording} requests to record, {len(requests.operations) - recording} to roll up, "
            f"{each:.4f} an event",
            _verdict(each <= MOST_REQUESTS_PER_EVENT, f"at most {MOST_REQUESTS_PER_EVENT}"),
        )
    for title, query in (("unfiltered", {}), ("one campaign", {"campaigns": "bulk"})):
        few, many = (_requests(account, reports.summary, query) for account in (SMALL, BUSY))
        print(
            f"report of the last hour, {title}: {few} requests after 1,000 events, {many} after "
            f"a million",
            _verdict(few == many, "the same"),
        )
    with counted() as requests:
        begin = int((NOW - timedelta(days=10)).timestamp()) * 1000
        number = totals(BUSY, None, None, begin, begin + 864_060_000, ["injection", "delivery"])
    print(f"exact total of ten days: {len(requests.operations)} requests, {number} events")


def _bulk(account: int, recipients: int) -> Iterator[Event]:
    """Yield the injections and deliveries of chunks of a hundred recipients."""
    transmission = ids.transmission_id()
    sender = Sender(account, None, transmission, "rest", "bulk", "template").fields()
    begin, span = clock.now_ms() - 3_000_000, 2_900_000
    for first in range(0, recipients, 100):
        for kind in ("injection", "delivery"):
            for index in range(first, first + 100):
                address = f"r{index}@{DOMAINS[index % 50]}"
                recipient = recipient_fields(address, metadata={}, tags=[])
                base = sender | recipient | {"message_id": ids.message_id(transmission, index)}
                at_ms = begin + first * span // recipients
                yield make_event(kind, base, at_ms, attempt=1, num_retries="0")


def _fill() -> int:
    """Write the counters of six months; return their number."""
    draw = random.Random(1)
    minute = int(NOW.timestamp()) // 60
    today = DAY.bucket(minute)
    days = range(today - HISTORY, today + 1)
    hours = range(HOUR.bucket(minute - 31 * 1440) - 24, HOUR.bucket(minute) + 1)
    minutes = range(minute - 1440 - 60, minute)
    items = list(_items(DAY, days, "domain", DOMAINS))
    items += _items(HOUR, [*hours[:48], *hours[-48:]], "domain", DOMAINS[1:])
    items += _items(MINUTE, [*minutes[:120], *minutes[-60:]], "domain", DOMAINS[1:])
    for name in CAMPAIGNS[1:]:
        begin = today - draw.randrange(HISTORY)
        items += _items(DAY, range(begin, min(begin + 10, today + 1)), "campaign", [name])
        for level, ends in ((HOUR, [*hours[:24], *hours[-24:]]), (MINUTE, minutes[-60:])):
            bounds = [each for each in ends if begin <= each * level.minutes // 1440 < begin + 10]
            items += _items(level, bounds, "campaign", [name])
    for dimension, value in (("all", ""), ("domain", DOMAINS[0]), ("campaign", CAMPAIGNS[0])):
        if dimension != "domain":
            items += _items(DAY, days, dimension, [value])
        items += _items(HOUR, hours, dimension, [value])
        items += _items(MINUTE, minutes, dimension, [value])
    counters.table.write_all(items)
    return len(items)


def _items(
    level: Level, buckets: Sequence[int], dimension: str, values: Sequence[str]
) -> Iterator[Item]:
    for bucket in buckets:
        for value in values:
            pk, sk = counters.key_of(LARGE, dimension, level, bucket, value)
            yield {"pk": pk, "sk": sk, "seq": 1, "expires": 2**33, **_COUNTS}


def _measure_reports() -> None:
    windows = {
        "24 hours by minute": {"precision": "1min", "days": 1},
        "31 days by hour": {"precision": "hour", "days": 31},
        "6 months by day": {"precision": "day", "days": HISTORY},
    }
    filters: dict[str, dict[str, str]] = {
        "unfiltered": {},
        "one campaign": {"campaigns": CAMPAIGNS[0]},
        "one domain": {"domains": DOMAINS[0]},
    }
    for title, window in windows.items():
        for name, query in filters.items():
            _report(f"{title}, {name}: summary", reports.summary, query, **window)
            _report(f"{title}, {name}: time-series", reports.over_time, query, **window)
        for by in (DOMAIN, CAMPAIGN):
            _report(
                f"{title}, by {by.name}",
                lambda report_request, by=by: reports.by_dimension(report_request, by),  # type: ignore[misc]
                {},
                **window,
            )


def _report(
    title: str, report: Callable[[ReportRequest], Any], query: dict[str, str], **window: Any
) -> None:
    began = time.monotonic()
    requests = _requests(LARGE, report, query, **window)
    seconds = time.monotonic() - began
    verdict = _verdict(requests <= MOST_REQUESTS, f"at most {MOST_REQUESTS}")
    print(f"{title}: {requests} requests, {seconds * 1000:.0f} ms {verdict}")


def _measure_combinations() -> None:
    """Print the requests of reports by two dimensions, with 1,000 and 10,000 combinations."""
    print("-- combinations of dimensions, in one day")
    today = DAY.bucket(int(NOW.timestamp()) // 60) - 1
    for account, campaigns in ((10, 20), (11, 200)):
        items = []
        for campaign in CAMPAIGNS[:campaigns]:
            for domain in DOMAINS:
                values = [domain, campaign, *[""] * (len(BY_FILTER_KEY) - 2)]
                pk = counters.partition(account, "tuples", DAY, today // DAY.apart)
                label = str(values).replace("'", '"')
                sk = f"{campaign}\n{today:08d}\n{domain}"
                item = {"pk": pk, "sk": sk, "label": label, "seq": 1, "expires": 2**33}
                items.append(item | _COUNTS)
        counters.table.write_all(items)
        for name, query in (
            ("one domain by campaign", {"domains": DOMAINS[0]}),
            ("one campaign by domain", {"campaigns": CAMPAIGNS[0]}),
        ):
            by = CAMPAIGN if "domains" in query else DOMAIN
            request_count = _requests(
                account,
                lambda report_request, by=by: reports.by_dimension(report_request, by),  # type: ignore[misc]
                query,
                precision="day",
                days=2,
            )
            print(f"{len(items):6} combinations, {name}: {request_count} requests")


def _requests(
    account: int,
    report: Callable[[ReportRequest], Any],
    query: dict[str, str],
    *,
    precision: str = "1min",
    days: float = 1 / 24,
) -> int:
    """Return how many requests a report of all metrics takes."""
    start = NOW - timedelta(days=days)
    parameters = {
        "from": f"{start:%Y-%m-%dT%H:%M}",
        "to": f"{NOW:%Y-%m-%dT%H:%M}",
        "precision": precision,
        "metrics": ",".join(sorted(METRICS)),
        **query,
    }
    caller = Caller(Scope(account, None), "bench", frozenset())
    report_request = read(Request(query=parameters, authenticated=caller), precisions=SERIES)
    with counted() as requests:
        report(report_request)
    return len(requests.operations)


def _verdict(holds: bool, bar: str) -> str:
    return f"[{'holds' if holds else 'FAILS'}: {bar}]"


if __name__ == "__main__":
    main()
