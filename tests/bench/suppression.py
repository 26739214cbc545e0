"""Measure the suppression list with 1,000 and 100,000 entries on the local cloud.

Requests are counted at the client, write units by the cloud as it serves them. The operator's
command imports and exports the large list, and its peak memory is measured.
"""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from chalicelib.core import aws
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.suppression import search, service
from chalicelib.suppression.model import MANUALLY_ADDED, NON_TRANSACTIONAL, new_entry
from chalicelib.suppression.search_request import read_search
from chalicelib.suppression.store import counts, lookup_items
from tests.fake_cloud import aws_requests, create_resources
from tests.unit.infrastructure.clouds import ROOT, LocalCloud

SMALL, LARGE, BULK = 1_000, 100_000, 10_000
MOST_BULK_REQUESTS = 420
MOST_MEGABYTES = 150
MOST_GROWTH = 2.0
SMALL_ACCOUNT, ACCOUNT = 1, 2
SCOPE = Scope(ACCOUNT, None)
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "STAGE": "bench",
    "COUNT_REQUESTS": "1",
}


class Measurement(NamedTuple):
    """The requests and the median seconds of an action, and its result."""

    requests: int
    seconds: float
    result: Any


def main() -> None:
    """Measure and print the figures."""
    with tempfile.TemporaryDirectory() as directory:
        cloud = LocalCloud(Path(directory) / "cloud")
        before = dict(os.environ)
        os.environ |= ENVIRONMENT
        try:
            cloud.start()
            os.environ["AWS_ENDPOINT_URL"] = cloud.url
            _clear_clients()
            create_resources()
            _measure(cloud, Path(directory))
        finally:
            cloud.close()
            os.environ.clear()
            os.environ |= before
            _clear_clients()


def _clear_clients() -> None:
    settings.cache_clear()
    aws.clear_cache()


def _measure(cloud: LocalCloud, directory: Path) -> None:
    _write_csv(directory / "small.csv", SMALL)
    _write_csv(directory / "large.csv", LARGE)
    _operate("import", directory / "small.csv", SMALL_ACCOUNT, SMALL)
    _operate("import", directory / "large.csv", ACCOUNT, LARGE)
    _operate("export", directory / "exported.csv", ACCOUNT, LARGE)
    _check_recipients()
    _pages_by_time()
    _filters()
    _bulk(cloud)


def _write_csv(path: Path, rows: int) -> None:
    """Write a list as customers have it: one large domain, some small ones, and rare sources."""
    rng = random.Random(rows)
    domains = ["large.test"] * 6 + [f"d{n}.test" for n in range(40)]
    sources = ["Bounce Rule"] * 6 + ["List Unsubscribe"] * 3 + ["Spam Complaint"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("recipient", "type", "description", "list_id", "source"))
        for number in range(rows):
            domain = "rare.test" if number % (rows // 10) == 5 else rng.choice(domains)
            source = "Compliance" if number % (rows // 10) == 7 else rng.choice(sources)
            kind = rng.choice(("transactional", NON_TRANSACTIONAL))
            writer.writerow((f"user{number}@{domain}", kind, f"550 unknown {number}", "", source))


def _operate(command: str, path: Path, account: int, rows: int) -> None:
    arguments = ["--account", str(account), command, str(path)]
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "infrastructure.admin.suppression", *arguments],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    seconds, megabytes = time.monotonic() - began, usage.ru_maxrss / 1024
    text = f"{command} of {rows:,} rows: {rows / seconds:,.0f} rows/s, {megabytes:.0f} MB"
    _print(text, megabytes <= MOST_MEGABYTES, f"at most {MOST_MEGABYTES} MB")


def _check_recipients() -> None:
    recipients = [f"user{n}@large.test" for n in range(100)]
    check = _timed(lambda: lookup_items.blocking(ACCOUNT, None, recipients, transactional=False))
    text = f"check of 100 recipients, {len(check.result)} suppressed"
    _print(f"{text}: {check.requests} request, {_ms(check)}", check.requests == 1, "1")


def _pages_by_time() -> None:
    for query in ({}, {"sort": "asc"}, {"per_page": "10000"}, {"page": "5"}):
        small = _timed(lambda query=query: _search(Scope(SMALL_ACCOUNT, None), query))
        large = _timed(lambda query=query: _search(SCOPE, query))
        rows = [max(1, len(each.result.entries)) for each in (small, large)]
        text = f"page by time {query or ''}: {small.requests} requests, {_ms(small)} for {rows[0]}"
        text += f" of {SMALL:,}; {large.requests}, {_ms(large)} for {rows[1]} of {LARGE:,}"
        each = [page.seconds / n for page, n in zip((small, large), rows, strict=True)]
        holds = large.requests <= 2 + rows[1] / 500 and each[1] <= MOST_GROWTH * each[0]
        _print(text, holds, f"no growth with the list (within {MOST_GROWTH:.0f} times)")


def _filters() -> None:
    for query in (
        {"domain": "rare.test"},
        {"domain": "large.test", "per_page": "1000"},
        {"domain": "large.test,d1.test,d2.test", "per_page": "1000"},
        {"sources": "Compliance"},
        {"sources": "Bounce Rule", "per_page": "1000"},
        {"sources": "Compliance", "domain": "large.test"},
        {"domain": "rare.test", "description": "550 unknown"},
        {"list_id": "nothing"},
        {"from": "2020-01-01", "per_page": "1000"},
    ):
        measurement = _timed(lambda query=query: _search(SCOPE, query), 1)
        requests = measurement.requests
        page, total = len(measurement.result.entries), measurement.result.total
        most = 8 + page / 250 + total / 2500
        text = f"{query}: {page} of {total:,} in {requests} requests, {_ms(measurement)}"
        _print(text, requests <= most, f"at most {most:.0f}")


def _bulk(cloud: LocalCloud) -> None:
    for list_id, name in ((None, "account-wide"), ("news", "for one mailing list")):
        for kind in ("new", "updated"):
            entries = [
                new_entry(f"bulk{n}@new.test", NON_TRANSACTIONAL, MANUALLY_ADDED, list_id=list_id)
                for n in range(BULK)
            ]
            before, units = _total(), _write_units(cloud)
            load = _timed(lambda entries=entries: service.put_all(ACCOUNT, None, entries), 1)
            added, units = _total() - before, _write_units(cloud) - units
            assert added == (BULK if kind == "new" else 0)
            text = f"bulk load of {BULK:,} {kind} entries {name}: {load.requests} requests, "
            text += f"{load.seconds:.1f} s, {units / BULK:.1f} write units an entry"
            _print(text, load.requests <= MOST_BULK_REQUESTS, f"at most {MOST_BULK_REQUESTS}")


def _search(scope: Scope, query: dict[str, str]) -> search.SuppressionPage:
    return search.find_page(scope, read_search(query, scope))


def _total() -> int:
    return counts.of_account(ACCOUNT)


def _timed(action: Callable[[], Any], times: int = 5) -> Measurement:
    seconds = []
    for _ in range(times):
        with aws_requests() as requests:
            began = time.perf_counter()
            result = action()
            seconds.append(time.perf_counter() - began)
    return Measurement(len(requests), median(seconds), result)


def _write_units(cloud: LocalCloud) -> float:
    return float(cloud.get("/_postfinch/counts")["write_units"])


def _ms(measurement: Measurement) -> str:
    return f"{measurement.seconds * 1000:.0f} ms"


def _print(text: str, holds: bool, bar: str) -> None:
    print(f"{text} [{'holds' if holds else 'FAILS'}: {bar}]", flush=True)
