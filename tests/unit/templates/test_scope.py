from __future__ import annotations

import pytest

from tests.unit.templates.api import CONTENT, Api

pytestmark = pytest.mark.spec("5-r6")


def subjects(api: Api, template_id: str, part: int | None) -> str:
    return str(api.get(f"/templates/{template_id}", part).results["content"]["subject"])


def ids_in_scope(api: Api, part: int | None) -> list[tuple[str, int | None]]:
    templates = api.get("/templates", part).results
    return [(template["id"], template.get("subaccount_id")) for template in templates]


@pytest.mark.spec("2.3-t11")
def test_only_a_subaccounts_template_shows_its_owner(api: Api) -> None:
    api.create("ours")
    api.create("theirs", part=7)
    assert "subaccount_id" not in api.get("/templates/ours").results
    assert api.get("/templates/theirs", 7).results["subaccount_id"] == 7


def test_one_id_may_name_a_template_of_each_owner(api: Api) -> None:
    for part in (0, 7, 8):
        api.create(part=part, content=CONTENT | {"subject": f"of {part}"})
    assert [subjects(api, "welcome", part) for part in (0, 7, 8)] == ["of 0", "of 7", "of 8"]
    api.put("/templates/welcome", {"content": CONTENT | {"subject": "new"}}, 7)
    assert [subjects(api, "welcome", part) for part in (0, 7, 8)] == ["of 0", "new", "of 8"]
    api.delete("/templates/welcome", 8)
    assert api.get("/templates/welcome", 8).status == 404
    assert [subjects(api, "welcome", part) for part in (0, 7)] == ["of 0", "new"]


def test_a_read_of_the_whole_account_finds_the_primary_accounts_template_first(api: Api) -> None:
    api.create(part=8, content=CONTENT | {"subject": "of 8"})
    assert subjects(api, "welcome", None) == "of 8"
    api.create(part=7, content=CONTENT | {"subject": "of 7"})
    assert subjects(api, "welcome", None) == "of 7"
    api.create(content=CONTENT | {"subject": "of 0"})
    assert subjects(api, "welcome", None) == "of 0"
    assert ids_in_scope(api, None) == [("welcome", None), ("welcome", 7), ("welcome", 8)]


def test_the_primary_account_alone_does_not_see_subaccounts_templates(api: Api) -> None:
    api.create("theirs", part=7)
    assert api.get("/templates/theirs", 0).status == 404
    assert api.put("/templates/theirs", {"name": "x"}).status == 404
    assert api.delete("/templates/theirs").status == 404
    assert api.post("/templates/theirs/preview", {}).status == 404
    assert ids_in_scope(api, 0) == []


@pytest.mark.spec("2.3-t10")
def test_a_subaccount_sees_only_what_is_shared_with_it(api: Api) -> None:
    api.create("private")
    api.create("shared", shared_with_subaccounts=True)
    api.create("theirs", part=8)
    assert api.get("/templates/private", 7).status == 404
    assert api.get("/templates/theirs", 7).status == 404
    assert api.get("/templates/shared", 7).results["shared_with_subaccounts"] is True
    assert api.post("/templates/shared/preview", {}, 7).status == 200
    assert ids_in_scope(api, 7) == [("shared", None)]


@pytest.mark.spec("2.3-t10")
def test_a_subaccount_cannot_change_what_is_shared_with_it(api: Api) -> None:
    api.create("shared", shared_with_subaccounts=True)
    assert api.put("/templates/shared", {"name": "x"}, 7).status == 403
    assert api.delete("/templates/shared", 7).status == 403
    assert api.get("/templates/shared").results["name"] == "shared"


def test_a_subaccounts_own_template_hides_a_shared_one(api: Api) -> None:
    api.create("welcome", shared_with_subaccounts=True)
    api.create("welcome", part=7, content=CONTENT | {"subject": "own"})
    assert subjects(api, "welcome", 7) == "own"
    assert ids_in_scope(api, 7) == [("welcome", 7)]
    assert ids_in_scope(api, 8) == [("welcome", None)]


@pytest.mark.spec("2.3-t10")
def test_only_the_primary_account_may_share(api: Api) -> None:
    body = {"id": "own", "content": CONTENT, "shared_with_subaccounts": True}
    response = api.post("/templates", body, 7)
    assert (response.status, response.codes) == (422, ["1300"])
    api.create("own", part=7, shared_with_subaccounts=False)
    assert api.put("/templates/own", {"shared_with_subaccounts": True}, 7).status == 422
    assert api.put("/templates/own", {"shared_with_subaccounts": False}, 7).status == 200
    assert api.get("/templates/own", 8).status == 404


@pytest.mark.spec("2.3-t10")
@pytest.mark.parametrize("query", [{}, {"update_published": "true"}])
def test_sharing_changes_both_versions_and_neither_becomes_the_newer(
    api: Api, query: dict[str, str]
) -> None:
    api.create(published=True)
    api.put("/templates/welcome", {"name": "newer"})
    api.put("/templates/welcome", {"shared_with_subaccounts": True}, **query)
    for draft in ("true", "false"):
        view = api.get("/templates/welcome", 7, draft=draft).results
        assert view["shared_with_subaccounts"] is True
    assert api.get("/templates/welcome", 7).results["name"] == "newer"
    api.put("/templates/welcome", {"shared_with_subaccounts": False}, **query)
    assert api.get("/templates/welcome", 7).status == 404
    assert ids_in_scope(api, 7) == []
    assert ids_in_scope(api, 0) == [("welcome", None)]
