"""Take pictures of the console: ``python -m tests.browser.screenshots OUT [VIEW...]``.

Each view and dialog (all of them, if none is named) is taken in both themes and sizes. With
``--readme`` instead of views, the README's pictures are taken.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser import chromium
from tests.browser.console import LOOKS, WIDE, Console
from tests.browser.dialogs import DIALOGS, open_dialog
from tests.browser.views import VIEWS, fill
from tests.journey.service import Service

README = ("overview", "message", "metrics")
README_SCALE = 0.6


def main(arguments: list[str]) -> int:
    """Write a picture for each view, theme and width."""
    if chromium.path() is None:
        print(chromium.MISSING, file=sys.stderr)
        return 1
    out = Path(arguments[0])
    out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as directory,
        Service(Path(directory)) as service,
        sync_playwright() as playwright,
    ):
        views = fill(service)
        browser = chromium.launch(playwright)
        if arguments[1:] == ["--readme"]:
            console = Console(browser, service, size=WIDE, scale=README_SCALE)
            for name in README:
                _take(console, views[name], out / f"console-{name}.png")
            console.close()
        else:
            _take_all(browser, service, out, arguments[1:] or [*VIEWS, *DIALOGS], views)
        browser.close()
    return 0


def _take_all(
    browser: Browser, service: Service, out: Path, names: list[str], views: dict[str, str]
) -> None:
    for theme, size in LOOKS:
        console = Console(browser, service, theme=theme, size=size)
        for name in names:
            path = out / f"{name}-{theme}-{size[0]}.png"
            if name in DIALOGS:
                open_dialog(console, views, name)
                console.page.screenshot(path=path)
            else:
                _take(console, views[name], path)
        console.close()


def _take(console: Console, view: str, path: Path) -> None:
    console.open(view)
    expect(console.page.locator(".skeleton")).to_have_count(0)
    console.page.screenshot(path=path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
