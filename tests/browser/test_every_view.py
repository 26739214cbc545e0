"""Every view is readable in both themes and sizes: no complaint, no axe violation, no overflow."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.console import LOOKS, Console
from tests.browser.views import fill
from tests.journey.service import Service


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
        problems[name] = console.violations()
        if console.overflow() > 0:
            problems[name].append(f"wider than its window by {console.overflow()} pixels")
    assert problems == {name: [] for name in views}
