from __future__ import annotations

from typing import Any

import pytest

from tests.unit.templates.api import CONTENT, Api

PREVIEWER = "/utils/content-previewer"


def preview(api: Api, content: dict[str, Any], **data: Any) -> Any:
    response = api.post(PREVIEWER, {"content": content, "substitution_data": data})
    assert response.status == 200, response
    return response.results


@pytest.mark.spec("4.2-t4")
def test_a_template_is_rendered_with_the_data_that_was_sent(api: Api) -> None:
    api.create(content=CONTENT | {"reply_to": "{{r}}@b.test", "headers": {"X-{}": "for {{name}}"}})
    data = {"name": "Natalie <x>", "r": "a"}
    response = api.post("/templates/welcome/preview", {"substitution_data": data})
    assert response.status == 200
    assert response.results == {
        "from": {"email": "news@example.test", "name": "News"},
        "subject": "Deals for Natalie <x>",
        "reply_to": "a@b.test",
        "text": "Hello Natalie <x>",
        "html": "<b>Hello Natalie &lt;x&gt;</b>",
        "headers": {"X-{}": "for Natalie <x>"},
    }


@pytest.mark.spec("4.2-t4")
def test_the_version_of_a_template_is_chosen_as_for_reading(api: Api) -> None:
    api.create(published=True)
    api.put("/templates/welcome", {"content": CONTENT | {"subject": "Draft"}})
    path = "/templates/welcome/preview"
    assert api.post(path, {}, draft="true").results["subject"] == "Draft"
    assert api.post(path, {}, draft="false").results["subject"] == "Deals for "
    assert api.post(path, {}).results["subject"] == "Draft"


@pytest.mark.parametrize("body", [None, {}, {"substitution_data": None}])
def test_a_template_can_be_previewed_without_data(api: Api, body: object) -> None:
    api.create()
    assert api.post("/templates/welcome/preview", body).results["text"] == "Hello "


@pytest.mark.spec("4.2-t7")
@pytest.mark.parametrize(
    "content",
    [
        {"text": "t"},
        {"html": "", "amp_html": "<p>a</p>"},
        {"subject": "s", "headers": {"X-A": "b"}},
        {"reply_to": "a@b.test"},
        {},
    ],
)
def test_only_the_parts_that_were_supplied_come_back(api: Api, content: dict[str, Any]) -> None:
    assert preview(api, content) == content


@pytest.mark.spec("4.2-t7")
@pytest.mark.parametrize(
    ("sender", "view"),
    [
        ("{{u}}@example.test", {"email": "ann@example.test"}),
        ('"{{n}}" <{{u}}@example.test>', {"email": "ann@example.test", "name": "Ann B"}),
        ("{{n}} <{{u}}@example.test>", {"email": "ann@example.test", "name": "Ann B"}),
        ({"email": "{{u}}@example.test"}, {"email": "ann@example.test"}),
        ({"email": "a@b.test", "name": "{{n}}"}, {"email": "a@b.test", "name": "Ann B"}),
        ("{{unknown}}", {"email": ""}),
    ],
)
def test_from_is_shown_as_an_object(api: Api, sender: Any, view: dict[str, str]) -> None:
    assert preview(api, {"from": sender}, u="ann", n="Ann B") == {"from": view}


@pytest.mark.spec("4.2-t7")
@pytest.mark.parametrize("missing", ["content", "substitution_data"])
def test_the_previewer_requires_content_and_data(api: Api, missing: str) -> None:
    body: dict[str, Any] = {"content": {"text": "x"}, "substitution_data": {}}
    for content in (body | {missing: None}, {k: v for k, v in body.items() if k != missing}):
        response = api.post(PREVIEWER, content)
        assert (response.status, response.codes) == (422, ["1400"])
    assert api.post(PREVIEWER, body | {missing: "text"}).codes == ["1300"]


def test_a_render_error_is_reported_by_part_and_line(api: Api) -> None:
    content = {
        "text": "a\nb\n{{ a.b.c + 1 }}",
        "html": "{{render_snippet('none')}}",
        "subject": "s",
    }
    response = api.post(PREVIEWER, {"content": content, "substitution_data": {"a": {"b": {}}}})
    assert (response.status, response.codes) == (422, ["3001", "3001"])
    assert [(e["part"], e["line"]) for e in response.errors] == [("text", 3), ("html", 1)]
    assert response.errors[0]["message"] == "substitution render error"


@pytest.mark.spec("7-t24")
def test_a_syntax_error_in_previewed_content_is_reported(api: Api) -> None:
    body = {"content": {"text": "{{if}}{{end}}", "html": "{{end}}"}, "substitution_data": {}}
    response = api.post(PREVIEWER, body)
    assert (response.status, response.codes) == (422, ["3000", "3000"])


def test_dynamic_content_and_automatic_variables_come_from_the_data(api: Api) -> None:
    content = {"html": "{{render_dynamic_content(dynamic_html.hi)}}", "text": "{{address.email}}"}
    data = {"dynamic_html": {"hi": "<b>{{n}}</b>"}, "n": 1, "address": {"email": "a@b.test"}}
    assert preview(api, content, **data) == {"html": "<b>1</b>", "text": "a@b.test"}


@pytest.mark.spec("2.4-t3")
def test_snippets_are_included_by_kind_of_part(api: Api) -> None:
    footer = {"html": "<i>{{n}}</i>", "text": "-- {{n}}", "amp_html": "<p>{{n}}</p>"}
    api.post("/api/labs/snippets", {"id": "footer", "content": footer})
    call = "{{ render_snippet('footer') }}"
    content = {"html": call, "text": call, "amp_html": call, "subject": call}
    assert preview(api, content, n=1) == {
        "html": "<i>1</i>",
        "text": "-- 1",
        "amp_html": "<p>1</p>",
        "subject": "-- 1",
    }


def test_a_shared_template_is_previewed_with_snippets_that_are_not_shared(api: Api) -> None:
    api.post("/api/labs/snippets", {"id": "footer", "content": {"text": "-- us"}})
    call = {"text": "{{render_snippet('footer')}}"}
    api.create("shared", content=CONTENT | call, shared_with_subaccounts=True)
    assert api.post("/templates/shared/preview", part=7).results["text"] == "-- us"
    body = {"content": call, "substitution_data": {}}
    assert api.post(PREVIEWER, body, part=7).codes == ["3001"]


def test_all_parts_share_the_budget_of_one_message(api: Api) -> None:
    loop = "{{each a}}{{each a}}{{each a}}{{end}}{{end}}{{end}}"

    def previewed(parts: int) -> int:
        headers = {f"X-{n}": loop for n in range(parts)}
        body = {"content": {"headers": headers}, "substitution_data": {"a": [0] * 90}}
        return api.post(PREVIEWER, body).status

    assert previewed(1) == 200
    assert previewed(20) == 422


def test_a_pre_built_message_is_previewed_as_a_message(api: Api) -> None:
    raw = "Subject: Hi {{n}}\nContent-Type: text/plain\n\nHello {{n}}\n"
    api.create(content={"email_rfc822": raw})
    response = api.post("/templates/welcome/preview", {"substitution_data": {"n": "Bo"}})
    assert response.results == {
        "email_rfc822": "Subject: Hi Bo\r\nContent-Type: text/plain\r\n\r\nHello Bo\r\n"
    }


def test_a_value_that_breaks_a_header_of_a_pre_built_message_is_refused(api: Api) -> None:
    body = {"content": {"email_rfc822": "Subject: {{n}}\n\nx"}, "substitution_data": {"n": "a\nb"}}
    response = api.post(PREVIEWER, body)
    assert (response.status, response.codes) == (422, ["3001"])
    assert "Subject" in response.errors[0]["description"]
