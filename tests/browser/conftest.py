"""Start one service and one browser for all tests here; skip them where no Chromium is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser import chromium
from tests.browser.console import Console
from tests.browser.hostile_mail import stranger
from tests.journey.service import Service


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser without a window.

    It ends before tests of other directories run: playwright has an event loop in this thread, and
    they could not start one of theirs.
    """
    if chromium.path() is None:
        pytest.skip(chromium.MISSING)
    with sync_playwright() as playwright:
        running = chromium.launch(playwright)
        yield running
        running.close()


@pytest.fixture(scope="package")
def service(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running service that all tests share; each uses different addresses."""
    with Service(tmp_path_factory.mktemp("console")) as running:
        yield running


@pytest.fixture
def open_console(browser: Browser, service: Service) -> Iterator[Callable[..., Console]]:
    """Open tabs; what the browser complains about in any of them fails the test."""
    consoles: list[Console] = []

    def open_one(**options: Any) -> Console:
        consoles.append(Console(browser, service, **options))
        return consoles[-1]

    yield open_one
    for console in consoles:
        console.close()


@pytest.fixture
def console(open_console: Callable[..., Console]) -> Console:
    """A tab, signed in with the key of the account."""
    return open_console()


@pytest.fixture
def fresh_console(browser: Browser, tmp_path: Path) -> Iterator[Console]:
    """A tab at a service of its own, where nothing was sent yet.

    The tab ends first: one that is open complains when its live stream breaks.
    """
    with Service(tmp_path) as running:
        console = Console(browser, running)
        yield console
        console.close()


@pytest.fixture
def visits() -> Iterator[tuple[str, list[str]]]:
    """The address of a server of a stranger, and the paths that were fetched from it."""
    with stranger() as address_and_paths:
        yield address_and_paths
