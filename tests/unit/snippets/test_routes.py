from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import clock
from tests.unit.templates.api import Api, Response

SNIPPETS = "/api/labs/snippets"
FOOTER = f"{SNIPPETS}/footer"
CONTENT = {"html": "<i>{{name}}</i>", "text": "-- {{name}}"}
NOW = 1_767_225_600.123


def create(api: Api, snippet_id: str = "footer", part: int = 0, **fields: Any) -> None:
    body = {"id": snippet_id, "content": CONTENT, **fields}
    response = api.post(SNIPPETS, body, part)
    assert (response.status, response.json) == (200, {"results": {"id": snippet_id}}), response


def plain_messages(response: Response, status: int) -> list[str]:
    """Check that the errors carry a message and no code; return the messages."""
    assert response.status == status, response
    assert response.errors
    for error in response.errors:
        assert set(error) <= {"message", "part", "line"}
    return [error["message"] for error in response.errors]


# --- create and read


@pytest.mark.spec("4.3-t1")
@pytest.mark.spec("4.3-t2")
@pytest.mark.spec("2.4-t2")
@pytest.mark.spec("2.4-t3")
@pytest.mark.spec("2.4-t4")
@pytest.mark.spec("2.4-t6")
def test_a_snippet_is_created_and_shown(api: Api) -> None:
    with clock.use(lambda: NOW):
        create(api, name="Our footer")
    assert api.get(FOOTER).results == {
        "id": "footer",
        "name": "Our footer",
        "content": CONTENT,
        "shared_with_subaccounts": False,
        "created_at": "2026-01-01T00:00:00.123Z",
        "updated_at": "2026-01-01T00:00:00.123Z",
    }


@pytest.mark.spec("9-r1")
def test_snippets_live_under_labs_only(api: Api) -> None:
    assert api.get("/api/v1/snippets").status == 404
    assert api.get("/api/v1/labs/snippets").status == 404
    assert api.get("/api/labs/snippets").status == 200


@pytest.mark.spec("2.4-t1")
def test_an_id_is_taken_only_once(api: Api) -> None:
    create(api, name="first")
    plain_messages(api.post(SNIPPETS, {"id": "footer", "content": {"text": "x"}}), 409)
    assert api.get(FOOTER).results["name"] == "first"


@pytest.mark.spec("2.4-t1")
def test_an_id_is_made_when_none_is_given(api: Api) -> None:
    ids = {api.post(SNIPPETS, {"content": CONTENT}).results["id"] for _ in range(2)}
    assert len(ids) == 2
    for snippet_id in ids:
        assert api.get(f"{SNIPPETS}/{snippet_id}").results["content"] == CONTENT


@pytest.mark.parametrize("kind", ["html", "text", "amp_html"])
def test_one_kind_of_content_is_enough(api: Api, kind: str) -> None:
    create(api, content={kind: "x"})
    assert api.get(FOOTER).results["content"] == {kind: "x"}


@pytest.mark.parametrize(
    "body",
    [
        {"id": "a b", "content": CONTENT},
        {"id": "x" * 65, "content": CONTENT},
        {"id": "", "content": CONTENT},
        {"id": ".", "content": CONTENT},
        {"id": "..", "content": CONTENT},
        {"id": 1, "content": CONTENT},
        {"name": "x" * 1025, "content": CONTENT},
        {"name": 1, "content": CONTENT},
        {"content": None},
        {},
        {"content": {}},
        {"content": {"html": ""}},
        {"content": {"html": 1}},
        {"content": "text"},
        {"content": CONTENT, "shared_with_subaccounts": "yes"},
        [],
    ],
)
def test_a_body_of_another_shape_is_refused(api: Api, body: object) -> None:
    plain_messages(api.post(SNIPPETS, body), 422)


def test_a_body_that_is_no_json_is_refused_in_the_same_form(api: Api) -> None:
    plain_messages(api.post(SNIPPETS), 422)


@pytest.mark.parametrize("kind", ["html", "text", "amp_html"])
def test_each_kind_of_content_has_at_most_100_kb(api: Api, kind: str) -> None:
    most = "é" * (50 * 1024)
    create(api, content={"html": most, "text": most, "amp_html": most})
    assert api.get(FOOTER).results["content"][kind] == most
    plain_messages(api.post(SNIPPETS, {"content": {kind: most + "x"}}), 422)
    plain_messages(api.put(FOOTER, {"content": {kind: most + "x"}}), 422)


@pytest.mark.spec("7-t24")
def test_syntax_errors_are_reported_by_message_part_and_line(api: Api) -> None:
    content = {"html": "ok", "text": "a\n{{if}}{{end}}\n{{ ? }}", "amp_html": "{{end}}"}
    response = api.post(SNIPPETS, {"content": content})
    messages = plain_messages(response, 422)
    assert messages[0].startswith("Error while compiling part text: line 2: ")
    assert [(e["part"], e["line"]) for e in response.errors] == [
        ("text", 2),
        ("text", 3),
        ("amp_html", 1),
    ]


@pytest.mark.spec("2.4-t3")
@pytest.mark.parametrize(
    "call", ["{{render_snippet('other')}}", "{{ render_dynamic_content(dynamic_html.x) }}"]
)
def test_a_snippet_cannot_include_other_content(api: Api, call: str) -> None:
    for kind in ("html", "text", "amp_html"):
        plain_messages(api.post(SNIPPETS, {"content": {kind: call}}), 422)
    create(api)
    plain_messages(api.put(FOOTER, {"content": {"text": call}}), 422)


@pytest.mark.parametrize("snippet_id", ["unknown", "a%20b", "x" * 3000, "%00"])
def test_an_unknown_snippet_is_not_found_by_any_method(api: Api, snippet_id: str) -> None:
    path = f"{SNIPPETS}/{snippet_id}"
    for response in (
        api.get(path),
        api.get(path, 7),
        api.put(path, {"name": "x"}),
        api.delete(path),
        api.delete(path, 7),
    ):
        assert plain_messages(response, 404) == ["Snippet does not exist"]


# --- update


@pytest.mark.spec("3-t6")
@pytest.mark.spec("4.3-t3")
@pytest.mark.spec("2.4-t6")
def test_an_update_changes_only_the_content_it_names(api: Api) -> None:
    with clock.use(lambda: NOW):
        create(api)
    with clock.use(lambda: NOW + 60):
        response = api.put(FOOTER, {"content": {"text": "new", "amp_html": "<p>a</p>"}})
    assert (response.status, response.json) == (200, None)
    view = api.get(FOOTER).results
    assert view["content"] == CONTENT | {"text": "new", "amp_html": "<p>a</p>"}
    assert view["created_at"] == "2026-01-01T00:00:00.123Z"
    assert view["updated_at"] == "2026-01-01T00:01:00.123Z"


@pytest.mark.spec("3-t6")
def test_an_empty_string_removes_content(api: Api) -> None:
    create(api)
    assert api.put(FOOTER, {"content": {"html": "", "amp_html": ""}}).status == 200
    assert api.get(FOOTER).results["content"] == {"text": CONTENT["text"]}


@pytest.mark.spec("3-t6")
def test_the_last_content_cannot_be_removed(api: Api) -> None:
    create(api)
    plain_messages(api.put(FOOTER, {"content": {"html": "", "text": ""}}), 422)
    assert api.get(FOOTER).results["content"] == CONTENT


@pytest.mark.parametrize("body", [{}, {"content": {}}, {"id": "other"}, {"name": None}])
def test_an_empty_update_changes_nothing(api: Api, body: dict[str, object]) -> None:
    with clock.use(lambda: NOW):
        create(api)
    before = api.get(FOOTER).json
    assert api.put(FOOTER, body).status == 200
    assert api.get(FOOTER).json == before


def test_name_and_sharing_are_updated_on_their_own(api: Api) -> None:
    create(api)
    api.put(FOOTER, {"name": "New"})
    api.put(FOOTER, {"shared_with_subaccounts": True})
    view = api.get(FOOTER).results
    assert (view["name"], view["shared_with_subaccounts"]) == ("New", True)
    assert view["content"] == CONTENT


# --- list and delete


@pytest.mark.spec("4.3-t5")
def test_a_list_shows_snippets_without_content(api: Api) -> None:
    with clock.use(lambda: NOW):
        create(api, name="Our footer", shared_with_subaccounts=True)
    assert api.get(SNIPPETS).results == [
        {
            "id": "footer",
            "name": "Our footer",
            "shared_with_subaccount": True,
            "created_at": "2026-01-01T00:00:00.123Z",
            "updated_at": "2026-01-01T00:00:00.123Z",
        }
    ]


@pytest.mark.spec("4.3-t5")
def test_a_list_may_be_of_shared_or_of_unshared_snippets(api: Api) -> None:
    create(api, "private")
    create(api, "shared", shared_with_subaccounts=True)
    create(api, "own", part=7)

    def ids(part: int | None = None, **query: str) -> list[str]:
        return sorted(each["id"] for each in api.get(SNIPPETS, part, **query).results)

    assert ids() == ["own", "private", "shared"]
    assert ids(shared_with_subaccounts="true") == ["shared"]
    assert ids(shared_with_subaccounts="false") == ["own", "private"]
    assert ids(0) == ["private", "shared"]
    assert ids(7) == ["own", "shared"]
    assert ids(7, shared_with_subaccounts="false") == ["own"]
    assert ids(8) == ["shared"]
    plain_messages(api.get(SNIPPETS, shared_with_subaccounts="1"), 400)


@pytest.mark.spec("4.3-t4")
def test_a_deleted_snippet_is_gone(api: Api) -> None:
    create(api)
    response = api.delete(FOOTER)
    assert (response.status, response.json) == (204, None)
    assert api.get(FOOTER).status == 404
    assert api.get(SNIPPETS).results == []
    create(api, content={"text": "anew"})
    assert api.get(FOOTER).results["content"] == {"text": "anew"}


# --- subaccounts


@pytest.mark.spec("2.4-t5")
@pytest.mark.spec("5-r6")
def test_each_owner_has_its_own_snippets(api: Api) -> None:
    create(api, content={"text": "of 0"})
    create(api, part=7, content={"text": "of 7"})
    assert api.get(FOOTER, 0).results["content"] == {"text": "of 0"}
    assert "subaccount_id" not in api.get(FOOTER, 0).results
    assert api.get(FOOTER, 7).results["content"] == {"text": "of 7"}
    assert api.get(FOOTER, 7).results["subaccount_id"] == 7
    assert api.get(FOOTER, 8).status == 404
    assert api.get(FOOTER).results["content"] == {"text": "of 0"}
    assert api.delete(FOOTER).status == 204
    assert api.get(FOOTER).results["content"] == {"text": "of 7"}


@pytest.mark.spec("2.4-t4")
@pytest.mark.spec("5-r6")
def test_a_subaccount_reads_what_is_shared_and_cannot_change_it(api: Api) -> None:
    create(api, shared_with_subaccounts=True)
    assert api.get(FOOTER, 7).results["shared_with_subaccounts"] is True
    plain_messages(api.put(FOOTER, {"name": "x"}, 7), 403)
    plain_messages(api.delete(FOOTER, 7), 403)
    create(api, part=7, content={"text": "own"})
    assert api.get(FOOTER, 7).results["content"] == {"text": "own"}
    assert len(api.get(SNIPPETS, 7).results) == 1


@pytest.mark.spec("2.4-t4")
def test_only_the_primary_account_may_share(api: Api) -> None:
    body = {"id": "own", "content": CONTENT, "shared_with_subaccounts": True}
    plain_messages(api.post(SNIPPETS, body, 7), 422)
    create(api, "own", part=7, shared_with_subaccounts=False)
    plain_messages(api.put(f"{SNIPPETS}/own", {"shared_with_subaccounts": True}, 7), 422)
