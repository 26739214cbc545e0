"""A transmission whose messages failed looks failed and says why."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.console import NARROW, WIDE, Console
from tests.journey.service import Service


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_a_transmission_of_which_nothing_was_delivered_looks_failed_and_says_why(
    size: tuple[int, int], open_console: Callable[..., Console], service: Service
) -> None:
    id_ = service.send("one@failed.example", "two@failed.example", text="{{if}}")
    console = open_console(size=size)
    page = console.open(f"send/{id_}")
    expect(page.get_by_text("2 of 2")).to_be_visible()
    expect(page.get_by_role("heading", name="Failed", exact=True)).to_be_visible()
    expect(page.get_by_text("No message of this transmission was delivered.")).to_be_visible()
    expect(page.get_by_text("Generated", exact=True)).to_have_count(1)
    reasons = page.get_by_role("list", name="Reasons").get_by_role("listitem")
    expect(reasons).to_have_count(1)
    expect(reasons).to_contain_text("554 5.3.3 [internal] Error while")
    expect(reasons).to_contain_text("@failed.example and 1 more")
    assert console.violations() == []
    assert console.overflow() <= 0


def test_a_transmission_that_failed_in_part_is_done_and_says_what_failed(
    console: Console, service: Service
) -> None:
    id_ = service.send("good@failed.example", "bounce-hard@failed.example")
    page = console.open(f"send/{id_}")
    expect(page.get_by_text("2 of 2")).to_be_visible()
    expect(page.get_by_role("heading", name="Done")).to_be_visible()
    reasons = page.get_by_role("list", name="Reasons").get_by_role("listitem")
    expect(reasons).to_contain_text("bounce-hard@failed.example")
