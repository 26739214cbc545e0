"""Find Debian's Chromium, and start it as tests, screenshots and benchmarks need it."""

from __future__ import annotations

import shutil

from playwright.sync_api import Browser, Playwright

MISSING = "no Chromium here: install it with `apt-get install chromium-headless-shell`"
# The one without windows of its own needs half of the time of a processor
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
_OPTIONS = [
    "--no-sandbox",  # Chromium refuses to run as root with it
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--no-default-browser-check",
]


def path() -> str | None:
    """Return the program's path, or ``None``."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


def launch(playwright: Playwright) -> Browser:
    """Start it with a profile of its own, which ends with it."""
    return playwright.chromium.launch(executable_path=path(), args=_OPTIONS)
