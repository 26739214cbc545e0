from __future__ import annotations

import pytest

from chalicelib.core import clock
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.templates import routes
from chalicelib.templates.model import Edit, new_template
from chalicelib.templates.store import records
from tests.unit.templates.api import ACCOUNT, ALL_GRANTS, CONTENT, Api

NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z


def content(**changes: object) -> dict[str, object]:
    return CONTENT | changes


# --- create


@pytest.mark.spec("4.2-t1")
@pytest.mark.spec("2.3-t1")
def test_a_template_is_created_under_its_id(api: Api) -> None:
    response = api.post("/templates", {"id": "summer_sale.2026-A", "content": CONTENT})
    assert (response.status, response.json) == (200, {"results": {"id": "summer_sale.2026-A"}})
    assert api.get("/templates/summer_sale.2026-A").results["name"] == "summer_sale.2026-A"


@pytest.mark.spec("2.3-t1")
def test_an_id_is_made_when_there_is_only_a_name(api: Api) -> None:
    template_id = api.post("/templates", {"name": "Summer sale!", "content": CONTENT}).results["id"]
    assert template_id.isalnum()
    assert len(template_id) <= 64
    assert api.get(f"/templates/{template_id}").results["name"] == "Summer sale!"


@pytest.mark.spec("2.3-t1")
@pytest.mark.parametrize("body", [{}, {"name": ""}, {"id": None, "name": None}])
def test_neither_id_nor_name_is_refused(api: Api, body: dict[str, object]) -> None:
    response = api.post("/templates", body | {"content": CONTENT})
    assert (response.status, response.codes) == (422, ["1400"])


@pytest.mark.spec("2.3-t1")
@pytest.mark.spec("8-t7")
@pytest.mark.parametrize("bad", ["a" * 65, "a b", "a/b", "ä", "a#b", "", "a\n"])
def test_an_id_of_other_characters_or_over_64_bytes_is_refused(api: Api, bad: str) -> None:
    response = api.post("/templates", {"id": bad, "name": "n", "content": CONTENT})
    assert (response.status, response.codes) == (422, ["1300"])
    assert api.post("/templates", {"id": "a" * 64, "content": CONTENT}).status == 200


@pytest.mark.parametrize("dots", [".", ".."])
def test_an_id_that_url_parsers_remove_from_a_path_is_refused(api: Api, dots: str) -> None:
    response = api.post("/templates", {"id": dots, "content": CONTENT})
    assert (response.status, response.codes) == (422, ["1300"])
    assert api.get("/templates").results == []
    assert api.post("/templates", {"id": "...", "content": CONTENT}).status == 200


def test_a_template_stored_under_such_an_id_is_still_sent(cloud: None) -> None:
    scope = Scope(ACCOUNT, PRIMARY)
    assert records.create(new_template(scope, ".", Edit(published=True)), CONTENT)
    assert records.get_content(scope, ".", draft=False).content == CONTENT


def test_an_id_is_taken_only_once(api: Api) -> None:
    api.create(name="first")
    response = api.post("/templates", {"id": "welcome", "name": "second", "content": CONTENT})
    assert (response.status, response.codes) == (400, ["3030"])
    assert api.get("/templates/welcome").results["name"] == "first"


def test_an_id_belongs_to_one_owner(api: Api) -> None:
    body = {"id": "welcome", "content": CONTENT}
    assert api.post("/templates", body | {"shared_with_subaccounts": True}).status == 200
    for part in (7, 8):
        assert api.post("/templates", body, part).status == 200
        response = api.post("/templates", body, part)
        assert (response.status, response.codes) == (400, ["3030"])


@pytest.mark.spec("2.3-t2")
@pytest.mark.spec("2.3-t3")
@pytest.mark.spec("8-t7")
@pytest.mark.parametrize("field", ["name", "description"])
def test_name_and_description_have_at_most_1024_bytes(api: Api, field: str) -> None:
    api.create("a", **{field: "é" * 512})
    api.create("b", **{field: "é" * 512})  # a name need not be unique
    assert api.get("/templates/a").results[field] == "é" * 512
    body = {"id": "c", "content": CONTENT, field: "é" * 512 + "x"}
    assert api.post("/templates", body).codes == ["1300"]
    assert api.put("/templates/a", {field: "x" * 1025}).codes == ["1300"]


@pytest.mark.spec("3-t1")
@pytest.mark.spec("2.3-t6")
@pytest.mark.spec("2.3-t7")
def test_a_template_is_created_as_a_draft(api: Api) -> None:
    api.create()
    view = api.get("/templates/welcome").results
    assert view["published"] is False
    assert view["has_draft"] is True
    assert view["has_published"] is False


@pytest.mark.spec("2.3-t5")
def test_a_template_can_be_published_as_it_is_created(api: Api) -> None:
    api.create(published=True)
    assert api.get("/templates/welcome").results["published"] is True
    assert api.get("/templates/welcome", draft="true").results["published"] is False
    assert api.get("/templates/welcome", draft="false").results["published"] is True


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"id": "x"}, "1400"),
        ({"id": "x", "content": None}, "1400"),
        ({"id": "x", "content": []}, "1300"),
        ({"id": 5, "content": CONTENT}, "1300"),
        ({"id": "x", "content": CONTENT, "published": "yes"}, "1300"),
        ({"id": "x", "content": CONTENT, "options": {"open_tracking": "yes"}}, "1300"),
        ({"id": "x", "content": CONTENT, "shared_with_subaccounts": 1}, "1300"),
        ([], "1300"),
    ],
)
def test_a_body_of_another_shape_is_refused(api: Api, body: object, code: str) -> None:
    response = api.post("/templates", body)
    assert (response.status, response.codes) == (422, [code])


# --- read


@pytest.mark.spec("4.2-t2")
@pytest.mark.spec("2.3-t4")
@pytest.mark.spec("2.3-t8")
@pytest.mark.spec("2.3-t9")
@pytest.mark.spec("2.3-t11")
def test_a_template_shows_all_its_fields(api: Api) -> None:
    options = {"open_tracking": False, "transactional": True}
    with clock.use(lambda: NOW):
        api.create(name="Welcome", description="First", options=options)
    assert api.get("/templates/welcome").results == {
        "id": "welcome",
        "name": "Welcome",
        "description": "First",
        "published": False,
        "has_draft": True,
        "has_published": False,
        "last_update_time": "2026-01-01T00:00:00+00:00",
        "shared_with_subaccounts": False,
        "options": options,
        "content": CONTENT,
    }


@pytest.mark.spec("4.2-t2")
def test_the_query_selects_the_draft_or_the_published_version(api: Api) -> None:
    api.create(name="one", published=True)
    api.put("/templates/welcome", {"name": "two"})
    assert api.get("/templates/welcome", draft="true").results["name"] == "two"
    assert api.get("/templates/welcome", draft="false").results["name"] == "one"


@pytest.mark.spec("4.2-t2")
def test_without_the_query_the_version_edited_last_is_shown(api: Api) -> None:
    api.create(name="one", published=True)
    assert api.get("/templates/welcome").results["published"] is True
    api.put("/templates/welcome", {"name": "two"})
    assert api.get("/templates/welcome").results["name"] == "two"
    api.put("/templates/welcome", {"name": "three"}, update_published="true")
    assert api.get("/templates/welcome").results["name"] == "three"
    api.put("/templates/welcome", {"published": True})
    assert api.get("/templates/welcome").results["name"] == "two"
    assert api.get("/templates/welcome").results["published"] is True


@pytest.mark.spec("4.2-t2")
def test_the_query_and_the_id_are_case_sensitive(api: Api) -> None:
    api.create(published=True)
    assert api.get("/templates/welcome", Draft="true").results["published"] is True
    assert api.get("/templates/Welcome").status == 404
    assert api.get("/templates/welcome", draft="True").codes == ["1200"]


@pytest.mark.parametrize("template_id", ["unknown", "a%20b", "a%23b", "x" * 3000, "%00"])
def test_an_unknown_template_is_not_found_by_any_method(api: Api, template_id: str) -> None:
    path = f"/templates/{template_id}"
    for response in (
        api.get(path),
        api.get(path, part=7),
        api.put(path, {"name": "x"}),
        api.delete(path),
        api.post(path + "/preview", {}),
    ):
        assert (response.status, response.codes) == (404, ["1600"])


def test_a_missing_version_is_refused_and_a_missing_template_is_not_found(api: Api) -> None:
    api.create()
    for response in (
        api.get("/templates/welcome", draft="false"),
        api.post("/templates/welcome/preview", {}, draft="false"),
    ):
        assert (response.status, response.codes) == (422, ["1603"])


# --- update


@pytest.mark.spec("4.2-t3")
@pytest.mark.spec("3-t4")
@pytest.mark.spec("2.3-t8")
def test_an_update_replaces_the_whole_content_of_the_draft(api: Api) -> None:
    with clock.use(lambda: NOW):
        api.create(name="Welcome", content=content(reply_to="a@b.test", headers={"X-A": "1"}))
    new = {"from": "b@example.test", "subject": "New", "text": "Text only"}
    with clock.use(lambda: NOW + 90):
        response = api.put("/templates/welcome", {"content": new})
    assert (response.status, response.json) == (200, None)
    view = api.get("/templates/welcome").results
    assert view["content"] == new
    assert view["name"] == "Welcome"
    assert view["last_update_time"] == "2026-01-01T00:01:30+00:00"


@pytest.mark.spec("3-t3")
def test_without_update_published_the_published_version_stays(api: Api) -> None:
    api.create(published=True)
    api.put("/templates/welcome", {"content": content(subject="Draft only"), "name": "new"})
    published = api.get("/templates/welcome", draft="false").results
    assert published["content"] == CONTENT
    assert published["name"] == "welcome"


@pytest.mark.spec("3-t3")
def test_with_update_published_only_the_published_version_is_overwritten(api: Api) -> None:
    api.create(published=True)
    new = content(subject="Published only")
    assert api.put("/templates/welcome", {"content": new}, update_published="true").status == 200
    assert api.get("/templates/welcome", draft="false").results["content"] == new
    assert api.get("/templates/welcome", draft="true").results["content"] == CONTENT


@pytest.mark.spec("3-t3")
def test_a_published_version_that_does_not_exist_cannot_be_overwritten(api: Api) -> None:
    api.create()
    response = api.put("/templates/welcome", {"name": "x"}, update_published="true")
    assert (response.status, response.codes) == (422, ["1603"])
    assert api.get("/templates/welcome").results["has_published"] is False


@pytest.mark.spec("3-t2")
def test_publishing_copies_the_draft_and_keeps_it(api: Api) -> None:
    api.create(options={"open_tracking": True})
    api.put("/templates/welcome", {"name": "two", "content": content(subject="Two")})
    assert api.put("/templates/welcome", {"published": True}).status == 200
    for draft in ("true", "false"):
        view = api.get("/templates/welcome", draft=draft).results
        assert view["name"] == "two"
        assert view["content"]["subject"] == "Two"
        assert view["options"] == {"open_tracking": True}
        assert view["published"] is (draft == "false")
        assert view["has_draft"] is True
        assert view["has_published"] is True


@pytest.mark.spec("3-t2")
def test_a_change_and_its_publication_may_be_one_request(api: Api) -> None:
    api.create()
    for query in ({}, {"update_published": "true"}):
        api.create("fresh" + str(len(query)))
        path = "/templates/fresh" + str(len(query))
        assert api.put(path, {"name": "two", "published": True}, **query).status == 200
        assert api.get(path, draft="false").results["name"] == "two"
        assert api.get(path, draft="true").results["name"] == "two"


def test_an_edit_of_the_published_version_that_says_so_leaves_the_draft_alone(api: Api) -> None:
    api.create(published=True)
    body = {"name": "two", "published": True}
    assert api.put("/templates/welcome", body, update_published="true").status == 200
    assert api.get("/templates/welcome", draft="false").results["name"] == "two"
    assert api.get("/templates/welcome", draft="true").results["name"] == "welcome"


@pytest.mark.spec("2.3-t5")
@pytest.mark.parametrize(
    ("body", "query"),
    [({"published": False}, {}), ({"published": False, "name": "x"}, {"update_published": "true"})],
)
def test_a_published_template_cannot_become_a_draft(
    api: Api, body: dict[str, object], query: dict[str, str]
) -> None:
    api.create(published=True)
    response = api.put("/templates/welcome", body, **query)
    assert (response.status, response.codes) == (422, ["1300"])
    assert api.get("/templates/welcome", draft="false").results["published"] is True


def test_a_draft_may_be_sent_back_as_it_was_shown(api: Api) -> None:
    api.create(published=True)
    draft = api.get("/templates/welcome", draft="true").results
    assert api.put("/templates/welcome", draft | {"name": "two"}).status == 200
    assert api.get("/templates/welcome", draft="true").results["name"] == "two"
    assert api.get("/templates/welcome", draft="false").results["name"] == "welcome"


@pytest.mark.spec("2.3-t12")
def test_options_are_changed_one_by_one_and_unset_by_null(api: Api) -> None:
    api.create(options={"open_tracking": True, "click_tracking": True})
    api.put("/templates/welcome", {"options": {"click_tracking": False, "transactional": True}})
    options = api.get("/templates/welcome").results["options"]
    assert options == {"open_tracking": True, "click_tracking": False, "transactional": True}
    api.put("/templates/welcome", {"options": {"open_tracking": None}})
    options = api.get("/templates/welcome").results["options"]
    assert options == {"click_tracking": False, "transactional": True}


def test_an_empty_update_changes_nothing(api: Api) -> None:
    with clock.use(lambda: NOW):
        api.create()
    before = api.get("/templates/welcome").json
    assert api.put("/templates/welcome", {"unknown": 1}).status == 200
    assert api.get("/templates/welcome").json == before


def test_an_id_is_never_changed(api: Api) -> None:
    api.create()
    assert api.put("/templates/welcome", {"id": "other", "name": "x"}).status == 200
    assert api.get("/templates/welcome").results["name"] == "x"
    assert api.get("/templates/other").status == 404


# --- list and delete


@pytest.mark.spec("4.2-t6")
def test_a_list_shows_summaries_with_the_singular_key_as_well(api: Api) -> None:
    with clock.use(lambda: NOW):
        api.create("daily", description="Daily roundup", shared_with_subaccounts=True)
    assert api.get("/templates").results == [
        {
            "id": "daily",
            "name": "daily",
            "description": "Daily roundup",
            "published": False,
            "has_draft": True,
            "has_published": False,
            "last_update_time": "2026-01-01T00:00:00+00:00",
            "shared_with_subaccounts": True,
            "shared_with_subaccount": True,
            "options": {},
        }
    ]


@pytest.mark.spec("4.2-t6")
def test_a_list_shows_the_version_that_draft_selects(api: Api) -> None:
    api.create("a")
    api.create("b", published=True)
    api.put("/templates/b", {"name": "b edited"})
    api.create("c", published=True)

    def names(**query: str) -> list[tuple[str, bool]]:
        return [(t["name"], t["published"]) for t in api.get("/templates", **query).results]

    assert names() == [("a", False), ("b edited", False), ("c", True)]
    assert names(draft="true") == [("a", False), ("b edited", False), ("c", False)]
    assert names(draft="false") == [("b", True), ("c", True)]


@pytest.mark.spec("4.2-t6")
def test_a_list_may_be_of_shared_or_of_unshared_templates(api: Api) -> None:
    api.create("private")
    api.create("shared", shared_with_subaccounts=True)
    api.create("own", part=7)

    def ids(part: int | None = None, **query: str) -> list[str]:
        return sorted(t["id"] for t in api.get("/templates", part=part, **query).results)

    assert ids(shared_with_subaccounts="true") == ["shared"]
    assert ids(shared_with_subaccounts="false") == ["own", "private"]
    assert ids(0, shared_with_subaccounts="false") == ["private"]
    assert ids(7, shared_with_subaccounts="true") == ["shared"]
    assert ids(7, shared_with_subaccounts="false") == ["own"]
    assert api.get("/templates", shared_with_subaccounts="1").codes == ["1200"]


@pytest.mark.spec("4.2-t6")
@pytest.mark.spec("8-t7")
def test_a_list_has_a_largest_length(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    assert routes.MOST_LISTED == 50_000
    monkeypatch.setattr(routes, "MOST_LISTED", 2)
    for name in "abc":
        api.create(name)
    assert [t["id"] for t in api.get("/templates").results] == ["a", "b"]


@pytest.mark.spec("4.2-t5")
@pytest.mark.spec("3-t5")
def test_deleting_removes_both_versions_and_answers_with_nothing(api: Api) -> None:
    api.create(published=True)
    response = api.delete("/templates/welcome")
    assert (response.status, response.json) == (200, None)
    for draft in ("true", "false"):
        assert api.get("/templates/welcome", draft=draft).status == 404
    assert api.get("/templates").results == []
    api.create(content=content(subject="Anew"))
    assert api.get("/templates/welcome").results["content"]["subject"] == "Anew"


@pytest.mark.parametrize(
    ("method", "path", "grant"),
    [
        ("GET", "/templates", "templates/view"),
        ("GET", "/templates/x", "templates/view"),
        ("POST", "/templates", "templates/modify"),
        ("PUT", "/templates/x", "templates/modify"),
        ("DELETE", "/templates/x", "templates/modify"),
        ("POST", "/templates/x/preview", "templates/preview"),
        ("POST", "/utils/content-previewer", "templates/preview"),
        ("GET", "/api/labs/snippets", "templates/view"),
        ("GET", "/api/labs/snippets/x", "templates/view"),
        ("POST", "/api/labs/snippets", "templates/modify"),
        ("PUT", "/api/labs/snippets/x", "templates/modify"),
        ("DELETE", "/api/labs/snippets/x", "templates/modify"),
    ],
)
def test_each_route_takes_its_own_grant(cloud: None, method: str, path: str, grant: str) -> None:
    assert Api(ALL_GRANTS - {grant}).call(method, path, {}, part=0, query={}).status == 403
    assert Api(frozenset({grant})).call(method, path, {}, part=0, query={}).status != 403
