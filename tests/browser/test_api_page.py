"""The page about the API: every operation has examples, and a form that sends it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.console import Console
from tests.journey.service import KEY, Service

EXAMPLES = """async () => {
  const { operationsOf } = await import("./core/description.js");
  const { exampleOf, LANGUAGES } = await import("./core/examples.js");
  const documents = await Promise.all(["../openapi.json", "../local/openapi.json"].map(
    (path) => fetch(path).then((response) => response.json())));
  return documents.flatMap(operationsOf).map((each) => [each.id, LANGUAGES.map(
    ([language]) => exampleOf(language, { ...each, query: { a: "b c" }, headers: { "X-A": "it's" },
      body: each.bodies[0]?.example ? JSON.stringify(each.bodies[0].example) : "",
      mediaType: each.bodies[0]?.mediaType }))]);
}"""

WAYS = """async (body) => {
  const { exampleOf, LANGUAGES } = await import("./core/examples.js");
  const call = { method: "POST", path: "api/v1/templates", mediaType: "application/json" };
  return LANGUAGES.map(([language]) => [
    exampleOf(language, { ...call, body, key: "it's" }),
    exampleOf(language, { ...call, body: JSON.stringify(body, null, 2) }),
  ]);
}"""


def test_an_operation_is_looked_up_and_sent(console: Console, service: Service) -> None:
    page = console.open("api")
    expect(page.get_by_role("link", name="Postman collection", exact=True)).to_be_visible()
    page.get_by_role("searchbox", name="Search operations").fill("post transmissions")
    page.get_by_role("link", name="Accept a transmission").click()
    expect(page.get_by_text("transmissions/modify", exact=True)).to_be_visible()
    expect(
        page.get_by_role("region", name="Body").get_by_text("substitution_data").first
    ).to_be_visible()
    assert console.violations() == []
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Send").click()
    answer = page.get_by_role("status", name="Answer")
    expect(answer.get_by_text("200", exact=True)).to_be_visible()
    expect(answer).to_contain_text("total_accepted_recipients")
    assert service.arrived("anna@example.org")
    page = console.open("api/get_templates_template_id")
    expect(page.get_by_text("Still needed: template_id")).to_be_visible()
    page.get_by_label("template_id").fill("none")
    console.expected = ("404 (Not Found)", "422 (Unprocessable Entity)")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("status", name="Answer")).to_contain_text("'none' does not exist")
    assert KEY not in page.locator("main").inner_text()


def test_it_is_for_everybody_and_docs_leads_to_it(console: Console) -> None:
    docs = console.url.replace("/console/", "/docs")
    response = console.context.request.get(docs, max_redirects=0)
    assert response.headers["location"] == "console/#/api"
    page = console.context.browser.new_page()
    page.goto(docs)
    page.get_by_role("link", name="List templates").click()
    expect(page.get_by_text("Sign in to send it.")).to_be_visible()
    page.get_by_role("link", name="Sign in", exact=True).click()
    expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
    page.close()


def test_a_request_is_for_the_subaccount_that_the_console_acts_for(
    console: Console, service: Service
) -> None:
    body = {"name": "Acting", "setup_api_key": False}
    subaccount = service.request("POST", "/api/v1/subaccounts", body).json["results"][
        "subaccount_id"
    ]
    page = console.open("api/get_suppression_list")
    page.reload()  # the subaccounts are read once
    page.get_by_label("Act for").select_option("Acting")
    expect(page.get_by_label("X-SVC-SUBACCOUNT")).to_have_value(str(subaccount))
    example = page.get_by_role("tabpanel").locator("pre")
    expect(example).to_contain_text(f"X-SVC-SUBACCOUNT: {subaccount}")
    with page.expect_request("**/suppression-list") as acting:
        page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("status", name="Answer")).to_contain_text("200")
    page.get_by_label("X-SVC-SUBACCOUNT").fill("")
    with page.expect_request("**/suppression-list") as request:
        page.get_by_role("button", name="Send", exact=True).click()
    assert acting.value.headers["x-svc-subaccount"] == str(subaccount)
    assert "x-svc-subaccount" not in request.value.headers
    expect(example).not_to_contain_text("X-SVC-SUBACCOUNT")


def test_a_narrow_screen_has_the_list_or_the_operation(console: Console) -> None:
    page = console.open("api")
    page.set_viewport_size({"width": 360, "height": 780})
    expect(page.get_by_role("heading", name="Choose an operation")).to_be_attached()
    page.get_by_role("link", name="List templates").click()
    expect(page.get_by_role("heading", name="Try it")).to_be_visible()
    expect(page.get_by_role("navigation", name="Operations")).to_have_count(0)
    page.get_by_role("link", name="All operations").click()
    expect(page.get_by_role("navigation", name="Operations")).to_be_visible()


def test_every_operation_has_examples_that_are_programs(console: Console, tmp_path: Path) -> None:
    node = shutil.which("node")
    examples = dict(console.open("api").evaluate(EXAMPLES))
    assert len(examples) > 180
    for name, (curl, python, javascript) in examples.items():
        assert subprocess.run(["bash", "-n", "-c", curl]).returncode == 0, name
        compile(python, name, "exec")
        (tmp_path / f"{name}.mjs").write_text(javascript)
    if node:
        names = sorted(tmp_path.glob("*.mjs"))
        code = (
            "for (const name of process.argv.slice(1)) new Function(`return (async () => {"
            "${require('fs').readFileSync(name)}})`)"
        )
        subprocess.run([node, "-e", code, *map(str, names)], check=True)


def test_an_example_has_the_key_only_where_it_is_given(console: Console) -> None:
    quoted = ("""'Authorization: it'\\''s'""", '"it\'s"', '"it\'s"')
    variables = ('"Authorization: $API_KEY"', 'os.environ["API_KEY"]', "process.env.API_KEY")
    examples = console.open("api").evaluate(WAYS, {"none": None, "some": [True, {}], "text": "ü"})
    for (personal, shared), key, variable in zip(examples, quoted, variables, strict=True):
        assert key in personal
        assert personal.replace(key, variable) == shared.replace("import os\n", "")


@pytest.mark.parametrize("language", ["curl", "python", "node"])
def test_an_example_does_what_it_says(
    console: Console, service: Service, language: str, tmp_path: Path
) -> None:
    program = {"curl": "bash", "python": sys.executable, "node": shutil.which("node") or ""}[
        language
    ]
    if not program:
        pytest.skip("Node.js is not installed: apt-get install nodejs")
    page = console.open(f"api/post_templates?in={'' if language == 'curl' else language}")
    text = page.get_by_role("tabpanel").locator("pre").inner_text().replace("welcome", language)
    file = tmp_path / ("example.mjs" if language == "node" else "example")
    file.write_text(text)
    environment = {**os.environ, "API_KEY": KEY}
    done = subprocess.run([program, file], env=environment, capture_output=True, text=True)
    assert f'"id": "{language}"' in done.stdout or f'"id":"{language}"' in done.stdout, done
    response = service.request("GET", f"/api/v1/templates/{language}")
    assert json.loads(response.body)["results"]["content"]["subject"] == "Welcome, {{name}}"
