"""Measure the console in Chromium: its first load and paint, the way of a message, long lists.

- the first load's compressed size and its first contentful paint (bars: 60 KB and 0.5 s)
- how long after its POST was answered a message is in the mailbox's list (bar: 1 s)
- the longest task while a list of 50,000 events or messages is drawn and scrolled (bar: 50 ms)

The rows of long lists are copies of one of the service's, made in the browser, page by page.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser import chromium
from tests.browser.console import Console
from tests.journey.service import Service, eventually

ROUNDS = 5
ROWS = 50_000
_LOADED = """() => performance.getEntriesByType("resource").concat(
    performance.getEntriesByType("navigation")).map(each => [each.name, each.encodedBodySize])"""
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
        browser.close()


def _first_load(browser: Browser, service: Service) -> None:
    paints, sizes = [], {}
    for _ in range(ROUNDS):
        console = Console(browser, service)
        expect(console.page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
        console.page.wait_for_load_state("networkidle")
        paints.append(console.page.evaluate(_PAINT))
        sizes = {urlsplit(name).path: size for name, size in console.page.evaluate(_LOADED)}
        console.close()
    files = {name: size for name, size in sizes.items() if name.startswith("/console/")}
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
