"""What is edited of a template stays in reach, is kept with it, and says what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.console import NARROW, WIDE, Console
from tests.browser.test_templates import make, preview, write
from tests.journey.service import Service


@pytest.mark.parametrize("size", [WIDE, NARROW])
@pytest.mark.parametrize("kind", ["templates/edit", "templates/snippets"])
def test_saving_stays_in_view(
    size: tuple[int, int], kind: str, open_console: Callable[..., Console], service: Service
) -> None:
    name = f"long-{size[0]}"
    if kind == "templates/edit":
        make(service, name, html="<p>Line</p>\n" * 200)
        names = ["Save draft", "Publish"]
    else:
        body = {"id": name, "content": {"html": "<p>Line</p>\n" * 200}}
        assert service.request("POST", "/api/labs/snippets", body).status == 200
        names = ["Save"]
    console = open_console(size=size)
    page = console.open(f"{kind}/{name}")
    expect(page.get_by_role("textbox", name="HTML", exact=True)).to_be_visible()
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    for button in names:
        expect(page.get_by_role("button", name=button, exact=True)).to_be_in_viewport(ratio=1)
    assert console.violations() == []
    assert console.overflow() <= 0


def test_test_data_is_kept_with_the_template_and_is_no_content(
    open_console: Callable[..., Console], service: Service
) -> None:
    make(service, "kept", html="<p>Dear {{name}}</p>", text="Dear {{name or 'reader'}}")
    path = "/api/v1/templates/kept"
    assert service.request("PUT", path, {"published": True}).status == 200
    page = open_console().open("templates/edit/kept?part=data")
    expect(page.get_by_text("Not in the test data: name")).to_be_visible()
    write(page, "Test data", '{"name": "Anna"')
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("The test data is not saved.")).to_be_visible()
    expect(page.get_by_text("Not saved", exact=True)).to_be_visible()
    write(page, "Test data", '{"name": "Anna"}')
    expect(preview(page).get_by_text("Dear Anna")).to_be_visible()
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Not saved", exact=True)).to_be_hidden()
    expect(page.get_by_role("button", name="Publish")).to_be_disabled()
    view = service.request("GET", path).json["results"]
    assert (view["preview_data"], view["published"]) == ({"name": "Anna"}, True)

    colleague = open_console().open("templates/edit/kept?part=data")
    expect(preview(colleague).get_by_text("Dear Anna")).to_be_visible()
    expect(colleague.get_by_role("textbox", name="Test data")).to_contain_text('"Anna"')


def test_test_data_that_only_this_browser_has_can_be_saved(
    console: Console, service: Service
) -> None:
    make(service, "former", html="<p>Dear {{name}}</p>")
    console.page.evaluate("""localStorage["postfinch.test-data..former"] = '{"name": "Olga"}'""")
    page = console.open("templates/edit/former")
    expect(preview(page).get_by_text("Dear Olga")).to_be_visible()
    page.get_by_role("button", name="Save draft").click()
    expect(page.get_by_text("Not saved", exact=True)).to_be_hidden()
    view = service.request("GET", "/api/v1/templates/former").json["results"]
    assert view["preview_data"] == {"name": "Olga"}
    assert page.evaluate('localStorage["postfinch.test-data..former"]') is None


def test_the_test_data_of_a_snippet_is_kept_with_it(console: Console, service: Service) -> None:
    body = {"id": "kept", "name": "Kept", "content": {"html": "<p>{{city}}</p>"}}
    assert service.request("POST", "/api/labs/snippets", body).status == 200
    page = console.open("templates/snippets/kept?part=data")
    write(page, "Test data", '{"city": "Oslo"}')
    expect(preview(page).get_by_text("Oslo")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Not saved")).to_be_hidden()
    view = service.request("GET", "/api/labs/snippets/kept").json["results"]
    assert view["preview_data"] == {"city": "Oslo"}


def test_an_empty_id_is_made_of_the_name_and_an_error_leaves_when_it_is_repaired(
    console: Console, service: Service
) -> None:
    make(service, "sommer-grusse")
    page = console.open("templates")
    page.get_by_role("button", name="New template").first.click()
    dialog = page.get_by_role("dialog", name="New template")
    dialog.get_by_label("Name", exact=True).fill("Sommer & Grüße")
    expect(dialog.get_by_text("Left empty: sommer-grusse-2")).to_be_visible()
    dialog.get_by_label("From").fill("hello@example.test")
    dialog.get_by_label("Id (optional)").fill("sommer-grusse")
    console.expected = ("400 (Bad Request)",)
    dialog.get_by_role("button", name="Make template").click()
    problem = dialog.get_by_role("alert")
    expect(problem).to_contain_text("Template 'sommer-grusse' already exists")
    expect(problem).to_contain_text("Choose another id or name.")
    assert console.violations() == []
    dialog.get_by_label("Id (optional)").fill("")
    expect(problem).to_have_count(0)
    dialog.get_by_role("button", name="Make template").click()
    expect(page.get_by_role("heading", name="Sommer & Grüße", level=1)).to_be_visible()
    view = service.request("GET", "/api/v1/templates/sommer-grusse-2").json["results"]
    assert view["preview_data"] == {"name": "Anna"}


def test_slugs_are_ids_that_the_service_takes(console: Console) -> None:
    script = """async () => {
      const { freeId, slugOf } = await import(new URL("core/slug.js", document.baseURI));
      const names = ["Ærø Łódź", " --x__y-- ", "Привет", "a".repeat(70), "Q1/2026: 50 %"];
      const long = "a".repeat(64);
      return [names.map(slugOf), freeId("a b", ["a-b", "a-b-2"]), freeId("a".repeat(70), [long])];
    }"""
    slugs, free, long = console.page.evaluate(script)
    assert slugs == ["aero-lodz", "x__y", "", "a" * 64, "q1-2026-50"]
    assert (free, long) == ("a-b-3", f"{'a' * 62}-2")
