"""Draft, preview, publish and delete templates and snippets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest

from tests.http_response import Response
from tests.journey.service import Service

TEMPLATES = "/api/v1/templates"
SNIPPETS = "/api/labs/snippets"
CONTENT = {
    "from": {"email": "news@example.test", "name": "News"},
    "subject": "Deals for {{name}}",
    "html": "<b>Hello {{name}}</b>",
}


def put(service: Service, template_id: str, body: Any, query: str = "") -> Response:
    return service.request("PUT", f"{TEMPLATES}/{template_id}{query}", body)


def create(service: Service, template_id: str, **fields: Any) -> None:
    body = {"id": template_id, "content": CONTENT, **fields}
    response = service.request("POST", TEMPLATES, body)
    assert response.status == 200, response.body
    assert response.json == {"results": {"id": template_id}}


def show(service: Service, template_id: str, query: str = "") -> dict[str, Any]:
    response = service.request("GET", f"{TEMPLATES}/{template_id}{query}")
    assert response.status == 200, response.body
    return response.json["results"]


@pytest.mark.spec("3-t1")
@pytest.mark.spec("3-t2")
@pytest.mark.spec("3-t3")
@pytest.mark.spec("3-t4")
def test_a_template_is_drafted_published_and_deleted(service: Service) -> None:
    create(service, "life", name="Life")
    assert show(service, "life")["published"] is False
    assert service.request("GET", f"{TEMPLATES}/life?draft=false").status == 422

    assert put(service, "life", {"published": True}).body == b""
    draft = CONTENT | {"subject": "Second"}
    assert put(service, "life", {"content": draft}).status == 200
    assert show(service, "life", "?draft=false")["content"] == CONTENT
    assert show(service, "life", "?draft=true")["content"] == draft

    direct = CONTENT | {"subject": "Third"}
    assert put(service, "life", {"content": direct}, "?update_published=true").status == 200
    assert show(service, "life", "?draft=false")["content"] == direct
    assert show(service, "life", "?draft=true")["content"] == draft

    templates = service.request("GET", f"{TEMPLATES}/").json["results"]
    (summary,) = [each for each in templates if each["id"] == "life"]
    assert summary["has_published"] is True
    assert summary["shared_with_subaccount"] is False
    assert "content" not in summary

    response = service.request("DELETE", f"{TEMPLATES}/life")
    assert (response.status, response.body) == (200, b"")
    response = service.request("GET", f"{TEMPLATES}/life")
    assert (response.status, response.json["errors"][0]["code"]) == (404, "1600")


@pytest.mark.spec("4.2-t4")
@pytest.mark.spec("4.2-t7")
@pytest.mark.spec("2.4-t3")
def test_a_preview_is_rendered_with_data_and_snippets(service: Service) -> None:
    footer = {"id": "preview-footer", "content": {"html": "<i>{{name}}</i>"}}
    assert service.request("POST", SNIPPETS, footer).status == 200
    content = CONTENT | {"html": "{{render_snippet('preview-footer')}}"}
    create(service, "previewed", content=content)
    expected = {
        "from": CONTENT["from"],
        "subject": "Deals for A & B",
        "html": "<i>A &amp; B</i>",
    }
    data = {"substitution_data": {"name": "A & B"}}
    response = service.request("POST", f"{TEMPLATES}/previewed/preview", data)
    assert (response.status, response.json["results"]) == (200, expected)
    response = service.request(
        "POST", "/api/v1/utils/content-previewer", data | {"content": content}
    )
    assert (response.status, response.json["results"]) == (200, expected)


@pytest.mark.spec("7-t24")
def test_syntax_errors_are_reported_for_every_part(service: Service) -> None:
    content = CONTENT | {"subject": "{{end}}", "html": "one\n{{if a b}}x{{end}}"}
    response = service.request("POST", TEMPLATES, {"id": "faulty", "content": content})
    assert response.status == 422
    places = [(e["code"], e["part"], e["line"]) for e in response.json["errors"]]
    assert places == [("3000", "Header:Subject", 1), ("3000", "html", 2)]
    assert service.request("GET", f"{TEMPLATES}/faulty").status == 404


@pytest.mark.spec("2.3-t4")
@pytest.mark.spec("8-t7")
def test_content_of_almost_5_mb_is_stored_unchanged(service: Service) -> None:
    # Random enough that the compressed content does not fit into an item
    large = CONTENT | {"text": "".join(f"{n * 2654435761 % 2**32:x}é\n" for n in range(400_000))}
    create(service, "large", content=large)
    assert show(service, "large")["content"] == large
    assert put(service, "large", {"published": True, "name": "Large"}).status == 200
    assert put(service, "large", {"content": CONTENT}).status == 200
    assert show(service, "large", "?draft=false")["content"] == large
    too_large = large | {"html": large["text"]}
    assert put(service, "large", {"content": too_large}).status == 422


def test_concurrent_edits_of_different_fields_are_all_kept(service: Service) -> None:
    create(service, "busy", published=True)
    edits: list[tuple[dict[str, Any], str]] = [
        ({"name": "n"}, ""),
        ({"description": "d"}, ""),
        *(({"options": {key: True}}, "") for key in ("open_tracking", "click_tracking")),
        ({"options": {"transactional": True}}, ""),
        ({"content": CONTENT | {"subject": "draft"}}, ""),
        ({"content": CONTENT | {"subject": "published"}}, "?update_published=true"),
        ({"shared_with_subaccounts": True}, ""),
    ]
    with ThreadPoolExecutor(len(edits)) as pool:
        responses = list(pool.map(lambda edit: put(service, "busy", *edit), edits))
    assert [response.status for response in responses] == [200] * len(edits)
    draft, published = show(service, "busy", "?draft=true"), show(service, "busy", "?draft=false")
    assert (draft["name"], draft["description"]) == ("n", "d")
    assert draft["options"] == dict.fromkeys(
        ("open_tracking", "click_tracking", "transactional"), True
    )
    assert draft["shared_with_subaccounts"] is published["shared_with_subaccounts"] is True
    subjects = draft["content"]["subject"], published["content"]["subject"]
    assert subjects == ("draft", "published")


def test_of_concurrent_requests_for_one_id_only_one_succeeds(service: Service) -> None:
    def ask(n: int) -> int:
        body = {"id": "contested", "name": str(n), "content": CONTENT}
        return service.request("POST", TEMPLATES, body).status

    with ThreadPoolExecutor(6) as pool:
        statuses = sorted(pool.map(ask, range(6)))
    assert statuses == [200, *[400] * 5]


@pytest.mark.spec("4.3-t1")
@pytest.mark.spec("4.3-t2")
@pytest.mark.spec("4.3-t3")
@pytest.mark.spec("4.3-t4")
@pytest.mark.spec("4.3-t5")
@pytest.mark.spec("9-r1")
def test_a_snippet_is_created_updated_listed_and_deleted(service: Service) -> None:
    path = f"{SNIPPETS}/journey"
    body = {"id": "journey", "name": "Journey", "content": {"html": "<b>x</b>", "text": "x"}}
    assert service.request("POST", SNIPPETS, body).json == {"results": {"id": "journey"}}
    assert service.request("POST", SNIPPETS, body).status == 409
    response = service.request("PUT", path, {"content": {"html": "", "amp_html": "a"}})
    assert (response.status, response.body) == (200, b"")
    snippet = service.request("GET", path).json["results"]
    assert snippet["content"] == {"text": "x", "amp_html": "a"}
    assert snippet["created_at"] < snippet["updated_at"]
    snippets = service.request("GET", f"{SNIPPETS}?shared_with_subaccounts=false").json["results"]
    (summary,) = [each for each in snippets if each["id"] == "journey"]
    assert summary["shared_with_subaccount"] is False
    assert "content" not in summary
    assert service.request("DELETE", path).status == 204
    response = service.request("GET", path)
    assert (response.status, response.json) == (
        404,
        {"errors": [{"message": "Snippet does not exist"}]},
    )


def test_an_id_that_needs_escaping_is_not_found(service: Service) -> None:
    for odd in ("a b", "a/b", "ä", "a#b", "%", "..", "x" * 2000):
        response = service.request("GET", f"{TEMPLATES}/{quote(odd, safe='')}")
        assert response.status == 404, odd
