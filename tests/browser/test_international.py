"""Domains beyond ASCII are shown in letters beside the A-labels that the service keeps."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.console import Console
from tests.journey.service import Service, eventually

TYPED, SHOWN = "ann@bücher.example", "ann@xn--bcher-kva.example"


def test_recipients_are_found_and_shown_in_letters(console: Console, service: Service) -> None:
    service.send(TYPED)
    eventually(lambda: service.events(recipients=TYPED, events="delivery"))
    service.request("PUT", f"/api/v1/suppression-list/{SHOWN}", {"type": "transactional"})
    page = console.open(f"activity?recipients={TYPED}")
    expect(page.get_by_text(f"{SHOWN} ({TYPED})").first).to_be_visible()
    page.get_by_role("link", name=f"Delivered: {SHOWN}").click()
    expect(page.get_by_text("In letters")).to_be_visible()
    console.open("audience/suppressions?recipient=bücher.example")
    expect(page.get_by_text(f"{SHOWN} ({TYPED})")).to_be_visible()


@pytest.mark.parametrize(
    ("domain", "letters"),
    [
        ("xn--fiqs8s.example", "中国.example"),
        ("a.XN--STRAE-OQA.de", "a.straße.de"),
        ("xn--mgbh0fb.xn--zckzah", "مثال.テスト"),
        ("plain.example", ""),
        ("xn--a.example", ""),  # a control character
        ("xn--99999999999.example", ""),  # more than Unicode has
        ("xn--.example", ""),
        ("xn--b_.example", ""),
    ],
)
def test_labels_are_decoded_if_they_are_letters(
    domain: str, letters: str, console: Console
) -> None:
    page = console.open("overview")
    result = page.evaluate(
        "(name) => import('./core/international.js').then((each) => each.inLetters(name))", domain
    )
    assert result == letters
