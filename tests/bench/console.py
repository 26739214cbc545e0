"""Measure the console in Chromium: its first load and paint, the way of a message, long lists.

- the first load's compressed size and its first contentful paint (bars: 60 KB and 0.5 s)
- how long after its POST was answered a message is in the mailbox's list (bar: 1 s)
- the longest task while a list of 50,000 events or messages is drawn and scrolled (bar: 50 ms)
- how much the heap grows while a view shows an hour of live events, 28 in each second
- the processor time of the idle service with the console open, against the same without (bar: 2 %)

The rows of long lists are copies of one of the service's, made in the browser, page by page.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil
from playwright.sync_api import Browser, CDPSession, expect, sync_playwright

from tests.browser import chromium
from tests.browser.console import Console
from tests.journey.service import Service, eventually

ROUNDS = 5
ROWS = 50_000
# Twice what the list of events holds: what grows in the second half is kept for nothing
LIVE_EVENTS = 100_000
LIVE_LOT = 5_000
LIVE_BAR = 2.0
IDLE_SECONDS = 30
IDLE_BAR = 2.0
_PAINT = """() => performance.getEntriesByName("first-contentful-paint")[0].startTime"""
_WATCH = """() => { window.tasks = [];
    new PerformanceObserver(list => window.tasks.push(...list.getEntries().map(e => e.duration)))
        .observe({ type: "longtask" }); }"""
# Answer with pages of 500 copies of the first row, each with an id of its own
_REPEAT = """([path, name, rows]) => {
    const original = window.fetch;
    let first = null;
    let row = 0;
    window.fetch = async (url, options) => {
        if (!String(url).includes(path)) return original(url, options);
        first ??= await (await original(url, options)).json();
        if (!String(url).includes("cursor=")) row = 0;
        const copy = () => ({ ...first.results[0], [name]: `${row++}` });
        const results = Array.from({ length: 500 }, copy);
        const links = { next: row < rows ? `${path.slice(1)}cursor=${row}` : undefined };
        return new Response(JSON.stringify({ ...first, results, total_count: rows, links }));
    }; }"""
_LOAD = """async rows => {
    const list = document.querySelector(".grid-body");
    const frame = () => new Promise(requestAnimationFrame);
    for (let tries = 0; tries < 3000; tries += 1) {
        const last = document.querySelector(".grid-row:last-child");
        if (last && Number(last.getAttribute("aria-rowindex")) > rows) break;
        list.scrollTop = list.scrollHeight;
        await frame();
    }
    const longest = Math.max(0, ...window.tasks);
    window.tasks = [];
    list.scrollTop = 0;
    const count = document.querySelector("[aria-rowcount]").getAttribute("aria-rowcount");
    return [longest, Number(count) - 1]; }"""
_SCROLL = """async () => {
    const list = document.querySelector(".grid-body");
    const frame = () => new Promise(requestAnimationFrame);
    const end = list.scrollHeight;
    for (let step = 0; step < 120; step += 1) { list.scrollTop += 700; await frame(); }
    for (let step = 0; step <= 120; step += 1) { list.scrollTop = end * step / 120; await frame(); }
    return [Math.max(0, ...window.tasks), list.querySelectorAll(".grid-row").length]; }"""

_KEEP_STREAMS = """window.streams = [];
    window.EventSource = class extends EventSource {
        constructor(url) { super(url); window.streams.push(this); } };"""
# The stream's own listeners get copies of an event; the view draws what comes in 250 ms at once
_PLAY = """async ([event, first, count]) => {
    const stream = window.streams.findLast(each => each.readyState === 1);
    for (let number = first; number < first + count; number += 1) {
        const copy = { ...event, event_id: `${number}`, rcpt_to: `live${number}@bench.example`,
            timestamp: new Date().toISOString() };
        stream.dispatchEvent(new MessageEvent("event", { data: JSON.stringify(copy) }));
    }
    await new Promise(done => setTimeout(done, 300)); }"""


def main() -> None:
    """Measure and print the figures."""
    if chromium.path() is None:
        print(chromium.MISSING, file=sys.stderr)
        return
    with (
        tempfile.TemporaryDirectory() as directory,
        Service(Path(directory)) as service,
        sync_playwright() as playwright,
    ):
        service.send("first@bench.example")
        eventually(lambda: service.events(recipients="first@bench.example", events="delivery"))
        browser = chromium.launch(playwright)
        _first_load(browser, service)
        _arrival(browser, service)
        _long_list(browser, service, "activity", "/api/v1/events/message?", "event_id")
        _long_list(browser, service, "mailbox", "/local/mailbox?", "id")
        for view in ("activity", "overview"):
            _memory(browser, service, view)
        _idle(browser, service)
        browser.close()


def _first_load(browser: Browser, service: Service) -> None:
    paints, files = [], {}
    for _ in range(ROUNDS):
        console = Console(browser, service)
        expect(console.page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
        console.page.wait_for_load_state("networkidle")
        paints.append(console.page.evaluate(_PAINT))
        files = console.files()
        console.close()
    plot = sum(size for name, size in files.items() if "uplot" in name)
    print(
        f"first load: {(sum(files.values()) - plot) / 1024:.1f} KB in {len(files)} files (bar 60)"
    )
    print(f"  and {plot / 1024:.1f} KB for the plot, later")
    print(f"first contentful paint: {statistics.median(paints):.0f} ms (bar 500)")


def _arrival(browser: Browser, service: Service) -> None:
    console = Console(browser, service)
    page = console.open("mailbox")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    delays = []
    for number in range(ROUNDS):
        service.send(f"arrival{number}@bench.example")
        answered = time.perf_counter()
        page.get_by_text(f"arrival{number}@bench.example").wait_for()
        delays.append(time.perf_counter() - answered)
    console.close()
    print(
        f"message in the list after its POST: {1000 * statistics.median(delays):.0f} ms (bar 1000)"
    )


def _long_list(browser: Browser, service: Service, view: str, path: str, name: str) -> None:
    console = Console(browser, service)
    page = console.page
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    page.wait_for_load_state("networkidle")
    page.evaluate(_REPEAT, [path, name, ROWS])
    page.evaluate(_WATCH)
    console.open(view)
    page.locator(".grid-row").first.wait_for()
    loading, rows = page.evaluate(_LOAD, ROWS)
    scrolling, drawings = page.evaluate(_SCROLL)
    print(
        f"{view}, {rows} rows of which {drawings} are in the document: longest task over 50 ms "
        f"{scrolling:.0f} ms scrolling, {loading:.0f} ms loading more (bar: none, 0)"
    )
    console.close()


def _memory(browser: Browser, service: Service, view: str) -> None:
    console = Console(browser, service)
    page = console.page
    console.context.add_init_script(_KEEP_STREAMS)
    page.reload()
    console.open(view)
    page.wait_for_function("window.streams.some(each => each.readyState === 1)")
    page.wait_for_load_state("networkidle")
    session = console.context.new_cdp_session(page)
    session.send("Performance.enable")
    event = service.events(recipients="first@bench.example")[0]
    heaps = [_heap(session)]
    for first in range(0, LIVE_EVENTS, LIVE_LOT):
        page.evaluate(_PLAY, [event, first, LIVE_LOT])
        if (first + LIVE_LOT) % (LIVE_EVENTS // 4) == 0:
            heaps.append(_heap(session))
    quarters = ", ".join(f"{heap:.1f}" for heap in heaps)
    print(
        f"{view}, {LIVE_EVENTS} live events: the heap grows by {heaps[4] - heaps[2]:.1f} MB in "
        f"the second half (bar {LIVE_BAR:.0f}); at the start and after each quarter: {quarters} MB"
    )
    console.close()


def _heap(session: CDPSession) -> float:
    """Return the megabytes that are in use after garbage was collected."""
    session.send("HeapProfiler.collectGarbage")
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(each["value"] for each in metrics if each["name"] == "JSHeapUsedSize") / 1e6


def _idle(browser: Browser, service: Service) -> None:
    without = _processor_percent(service)
    console = Console(browser, service)
    console.page.wait_for_load_state("networkidle")
    beside = _processor_percent(service)
    console.close()
    print(
        f"idle service: {without:.1f} % of a core, and {beside:.1f} % with the console open: "
        f"{beside - without:+.1f} (bar {IDLE_BAR:.0f})"
    )


def _processor_percent(service: Service) -> float:
    before, began = _processor_seconds(service), time.monotonic()
    time.sleep(IDLE_SECONDS)
    after, seconds = _processor_seconds(service), time.monotonic() - began
    return 100 * sum(after[each] - before.get(each, 0.0) for each in after) / seconds


def _processor_seconds(service: Service) -> dict[int, float]:
    """Return the processor time of each of the service's processes."""
    seconds = {}
    for process in service.family():
        with suppress(psutil.NoSuchProcess):
            seconds[process.pid] = sum(process.cpu_times()[:2])
    return seconds
