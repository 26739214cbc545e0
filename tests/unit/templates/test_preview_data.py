"""The data of previews is stored beside a template or snippet, and is no part of its content."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.preview_data import MOST_BYTES
from chalicelib.core.scope import Scope
from chalicelib.templates.store import bodies, records
from tests.unit.templates.api import CONTENT, Api

DATA = {"name": "Anna", "order": {"lines": [1, None, "é 😀"]}}
LATER = 4_102_444_800.0

_BODY = {"id": "x", "content": {"html": "<b>{{name}}</b>"}}
#: The kind's path, its body, and the field that tells when it was changed last
TEMPLATE = ("/templates", _BODY | {"content": CONTENT}, "last_update_time")
SNIPPET = ("/api/labs/snippets", _BODY, "updated_at")
both_kinds = pytest.mark.parametrize(("path", "body", "time"), [TEMPLATE, SNIPPET])


@both_kinds
def test_preview_data_is_stored_and_returned_as_it_is(
    api: Api, path: str, body: dict[str, Any], time: str
) -> None:
    assert api.post(path, body | {"preview_data": DATA}).status == 200
    assert api.get(f"{path}/x").results["preview_data"] == DATA
    assert "preview_data" not in api.get(path).results[0]


@both_kinds
def test_what_has_no_preview_data_does_not_show_any(
    api: Api, path: str, body: dict[str, Any], time: str
) -> None:
    assert api.post(path, body).status == 200
    assert "preview_data" not in api.get(f"{path}/x").results
    for data in ({}, None):
        api.put(f"{path}/x", {"preview_data": DATA})
        api.put(f"{path}/x", {"name": "Renamed"})
        assert api.get(f"{path}/x").results["preview_data"] == DATA
        assert api.put(f"{path}/x", {"preview_data": data}).status == 200
        assert "preview_data" not in api.get(f"{path}/x").results


@both_kinds
def test_preview_data_does_not_count_as_a_change(
    api: Api, path: str, body: dict[str, Any], time: str
) -> None:
    api.post(path, body)
    before = api.get(f"{path}/x").results
    with clock.use(lambda: LATER):
        api.put(f"{path}/x", {"preview_data": DATA})
        assert api.get(f"{path}/x").results == before | {"preview_data": DATA}
        api.put(f"{path}/x", {"name": "Another", "preview_data": {}})
    assert api.get(f"{path}/x").results[time] > before[time]


@both_kinds
def test_preview_data_has_at_most_the_bytes_of_substitution_data(
    api: Api, path: str, body: dict[str, Any], time: str
) -> None:
    longest = {"text": "x" * (MOST_BYTES - len('{"text":""}'))}
    assert api.post(path, body | {"preview_data": longest}).status == 200
    response = api.put(f"{path}/x", {"preview_data": longest | {"more": 1}})
    assert response.status == 422
    assert "preview_data exceeds" in str(response.errors)
    assert api.get(f"{path}/x").results["preview_data"] == longest


@both_kinds
@pytest.mark.parametrize("data", [[], "{}", 5, True])
def test_preview_data_is_an_object(
    api: Api, path: str, body: dict[str, Any], time: str, data: object
) -> None:
    assert api.post(path, body | {"preview_data": data}).status == 422


def test_both_versions_of_a_template_share_it(api: Api) -> None:
    api.create(published=True, preview_data={"name": "One"})
    api.put("/templates/welcome", {"preview_data": DATA}, update_published="true")
    for draft in ("true", "false"):
        view = api.get("/templates/welcome", draft=draft).results
        assert (view["preview_data"], view["content"]) == (DATA, CONTENT)
    assert api.get("/templates/welcome").results["published"] is True


@pytest.mark.spec("5-r6")
def test_a_subaccount_sees_that_of_a_shared_template_and_cannot_change_it(api: Api) -> None:
    api.create(shared_with_subaccounts=True, preview_data=DATA)
    assert api.get("/templates/welcome", 7).results["preview_data"] == DATA
    assert api.put("/templates/welcome", {"preview_data": {}}, 7).status == 403


@pytest.mark.cost
def test_a_transmission_does_not_read_it(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.create(preview_data=DATA)
    bodies._cache.clear()
    refs: list[str] = []
    read = bodies._read
    monkeypatch.setattr(bodies, "_read", lambda pk, ref: refs.append(ref) or read(pk, ref))
    template = records.get_content(Scope(1, 0), "welcome", draft=True).template
    assert refs == [template.draft.content_ref]
