"""Every view and dialog is readable in both themes and sizes.

The browser has no complaint, axe finds no violation, and nothing is wider than what it is in.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.console import NARROW, WIDE, Console
from tests.browser.dialogs import DIALOGS, open_dialog
from tests.browser.views import fill
from tests.journey.service import Service

# The parts of a dialog whose content is wider than they are, and code that its button covers
_FAULTS = """(dialog) => [
  ...[dialog, ...dialog.querySelectorAll("[class^=dialog-]")]
    .filter((part) => part.scrollWidth > part.clientWidth)
    .map((part) => `${part.className} is too narrow`),
  ...[...dialog.querySelectorAll(".code")]
    .map((code) => [...code.children].map((part) => part.getBoundingClientRect()))
    .filter(([text, button]) => text.right > button.left)
    .map(() => "a button covers code"),
]"""


# Colours depend on the theme only, and what fits on the size only: each of them once
LOOKS = [("light", NARROW), ("dark", WIDE)]
# The views and dialogs that say who changed what they show
CHANGED = {
    *("template", "snippet", "ab-test", "list", "domain", "tracking", "webhook", "user"),
    *("key-change", "subaccount-change", "pool-change", "user-change"),
}


@pytest.fixture(scope="module")
def views(service: Service) -> dict[str, str]:
    return fill(service)


@pytest.mark.parametrize(("theme", "size"), LOOKS)
def test_every_view_is_accessible_and_within_its_window(
    theme: str,
    size: tuple[int, int],
    open_console: Callable[..., Console],
    views: dict[str, str],
) -> None:
    console = open_console(theme=theme, size=size)
    problems = {}
    for name, view in views.items():
        console.open(view)
        if name in CHANGED:
            expect(console.page.get_by_text("Last changed by")).to_be_visible()
        problems[name] = console.violations()
        if console.overflow() > 0:
            problems[name].append(f"wider than its window by {console.overflow()} pixels")
    assert problems == {name: [] for name in views}


@pytest.mark.parametrize(("theme", "size"), LOOKS)
def test_every_dialog_is_accessible_and_within_its_window(
    theme: str,
    size: tuple[int, int],
    open_console: Callable[..., Console],
    views: dict[str, str],
) -> None:
    console = open_console(theme=theme, size=size)
    problems = {}
    for name in DIALOGS:
        dialog = open_dialog(console, views, name)
        if name in CHANGED:
            expect(dialog.get_by_text("Last changed by")).to_be_visible()
        problems[name] = [*console.violations(), *dialog.evaluate(_FAULTS)]
        box = dialog.bounding_box() or {"x": -1, "y": -1, "width": 0, "height": 0}
        ends = (box["x"] + box["width"], box["y"] + box["height"])
        if min(box["x"], box["y"]) < 0 or ends[0] > size[0] or ends[1] > size[1]:
            problems[name].append(f"not within its window: {box}")
    assert problems == {name: [] for name in DIALOGS}
