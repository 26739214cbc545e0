"""Null in an update removes what is optional, by the same rule in every resource."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chalicelib.core.json_types import Json
from chalicelib.sending_domains import store as domains
from tests.unit.calling import Client
from tests.unit.people import make_account, make_domain, make_key, make_subaccount
from tests.unit.sending_domains.examples import domain

#: Creates a thing and returns its path
Make = Callable[[Client], str]


@pytest.fixture
def client(cloud: None) -> Client:
    make_account()
    return make_key()


def create(client: Client, path: str, body: Json) -> Json:
    response = client.post(path, body)
    assert response.status == 200, response
    results: Json = response.results
    return results


def account(client: Client) -> str:
    return "/api/v1/account"


def ip_pool(client: Client) -> str:
    assert domains.create(domain("signs.test"))
    create(client, "/api/v1/ip-pools", {"name": "other"})
    return f"/api/v1/ip-pools/{create(client, '/api/v1/ip-pools', {'name': 'mine'})['id']}"


def subaccount(client: Client) -> str:
    create(client, "/api/v1/ip-pools", {"name": "mine"})
    return f"/api/v1/subaccounts/{make_subaccount().id}"


def template(client: Client) -> str:
    content = {"from": "me@example.test", "subject": "Hello", "text": "Hello"}
    create(client, "/api/v1/templates", {"id": "t", "content": content})
    return "/api/v1/templates/t"


def snippet(client: Client) -> str:
    create(client, "/api/labs/snippets", {"id": "s", "content": {"text": "Hello"}})
    return "/api/labs/snippets/s"


def sending_domain(client: Client) -> str:
    make_domain("example.test")
    create(client, "/api/v1/tracking-domains", {"domain": "track.example.test"})
    return "/api/v1/sending-domains/example.test"


def recipient_list(client: Client) -> str:
    recipients = [{"address": "you@inbox.test"}]
    create(client, "/api/v1/recipient-lists", {"id": "l", "recipients": recipients})
    return "/api/v1/recipient-lists/l"


def api_key(client: Client) -> str:
    key = create(client, "/api/v1/api-keys", {"label": "k", "grants": ["smtp/inject"]})
    return f"/api/v1/api-keys/{key['id']}"


def suppressed(client: Client) -> str:
    path = "/api/v1/suppression-list/you@inbox.test"
    assert client.put(path, {"type": "transactional"}).status == 200
    return path


ACCOUNT_OPTIONS = {
    "smtp_tracking_default": True,
    "rest_tracking_default": False,
    "click_tracking": False,
    "initial_open_pixel_tracking": False,
    "transactional_default": True,
    "transactional_unsub": True,
    "inline_seeds": False,
}
TEMPLATE_OPTIONS = dict.fromkeys(
    ("open_tracking", "click_tracking", "transactional", "initial_open", "inline_css"), True
)
SUBACCOUNT_OPTIONS = {"deliverability": True, "open_tracking_disabled": True}
OPTIONS = [
    (account, ACCOUNT_OPTIONS),
    (subaccount, SUBACCOUNT_OPTIONS),
    (template, TEMPLATE_OPTIONS),
]


@pytest.mark.parametrize(
    ("make", "field", "value", "beside"),
    [
        (ip_pool, "signing_domain", "signs.test", {}),
        (ip_pool, "fbl_signing_domain", "signs.test", {}),
        (ip_pool, "auto_warmup_overflow_pool", "other", {}),
        (ip_pool, "auto_warmup_overflow_pool", "shared pool", {}),
        (subaccount, "ip_pool", "mine", {}),
        (template, "description", "About", {}),
        (sending_domain, "tracking_domain", "track.example.test", {}),
        (recipient_list, "name", "Ours", {}),
        (recipient_list, "description", "About", {}),
        (recipient_list, "attributes", {"a": 1}, {}),
        (api_key, "valid_ips", ["192.0.2.1"], {}),
        (suppressed, "description", "About", {"type": "transactional"}),
    ],
)
def test_null_removes_an_optional_field(
    client: Client, make: Make, field: str, value: Any, beside: Json
) -> None:
    path = make(client)
    before = shown(client, path)
    assert client.put(path, beside | {field: value}).status in (200, 204)
    assert shown(client, path)[field] == value
    assert client.put(path, beside | {field: None}).status in (200, 204)
    assert shown(client, path) == before


@pytest.mark.parametrize(
    ("make", "options", "name"),
    [(make, options, name) for make, options in OPTIONS for name in options],
    ids=lambda each: each if isinstance(each, str) else None,
)
def test_null_removes_one_option_so_that_its_default_applies(
    client: Client, make: Make, options: Json, name: str
) -> None:
    path = make(client)
    defaults = shown(client, path)["options"]
    assert client.put(path, {"options": options}).status == 200
    assert shown(client, path)["options"] == options
    assert client.put(path, {"options": {name: None}}).status == 200
    rest = {each: value for each, value in options.items() if each != name}
    default = {name: defaults[name]} if name in defaults else {}
    assert shown(client, path)["options"] == rest | default


@pytest.mark.parametrize(("make", "options"), OPTIONS)
def test_null_in_place_of_the_options_removes_them_all(
    client: Client, make: Make, options: Json
) -> None:
    path = make(client)
    defaults = shown(client, path)["options"]
    assert client.put(path, {"options": options}).status == 200
    assert client.put(path, {"options": {}}).status == 200
    assert shown(client, path)["options"] == options
    assert client.put(path, {"options": None}).status == 200
    assert shown(client, path)["options"] == defaults


def test_null_removes_a_part_of_a_snippet(client: Client) -> None:
    path = snippet(client)
    assert client.put(path, {"content": {"html": "<p>Hello</p>"}}).status == 200
    assert client.put(path, {"content": {"html": None}}).status == 200
    assert shown(client, path)["content"] == {"text": "Hello"}
    assert client.put(path, {"content": {"text": None}}).status == 422


@pytest.mark.parametrize(
    ("make", "body"),
    [
        (account, {"company_name": None, "tfa_required": None}),
        (ip_pool, {"name": None}),
        (subaccount, {"name": None, "status": None}),
        (template, {"name": None, "content": None, "shared_with_subaccounts": None}),
        (snippet, {"name": None, "content": None, "shared_with_subaccounts": None}),
        (sending_domain, {"dkim": None, "shared_with_subaccounts": None}),
        (recipient_list, {"recipients": None}),
        (api_key, {"label": None, "grants": None}),
    ],
)
def test_null_changes_no_field_that_cannot_be_removed(
    client: Client, make: Make, body: Json
) -> None:
    path = make(client)
    before = shown(client, path)
    assert client.put(path, body).status in (200, 204)
    assert shown(client, path) == before


def test_null_options_of_a_transmission_count_as_absent(client: Client) -> None:
    make_domain("example.test")
    names = ("open_tracking", "click_tracking", "initial_open", "transactional", "ip_pool")
    names += ("inline_css", "perform_substitutions", "dkim_key", "sandbox", "start_time")
    names += ("reply_domain",)
    body = {
        "content": {"from": "me@example.test", "subject": "Hello", "text": "Hello"},
        "recipients": [{"address": "you@inbox.test", "options": {"open_tracking": None}}],
    }
    for options in (None, dict.fromkeys(names)):
        assert client.post("/api/v1/transmissions", body | {"options": options}).status == 200


FILE = {"name": "f", "type": "image/png", "data": "AAAA"}
CONTENT = {
    "from": {"email": "me@example.test", "name": "Me"},
    "subject": "Hello",
    "reply_to": "me@example.test",
    "text": "Hello",
    "html": "<p>Hello</p>",
    "amp_html": "<html amp4email></html>",
    "headers": {"X-A": "a"},
}
RECIPIENT = {
    "address": {"email": "you@inbox.test", "name": "You", "header_to": "you@inbox.test"},
    "tags": ["a"],
    "metadata": {"a": 1},
    "substitution_data": {"a": 1},
    "options": {"open_tracking": True, "click_tracking": True, "initial_open": True},
    "return_path": "back@example.test",
}
TRANSMISSION = {
    "content": CONTENT | {"attachments": [FILE], "inline_images": [FILE]},
    "recipients": [RECIPIENT],
    "options": TEMPLATE_OPTIONS
    | {"sandbox": False, "perform_substitutions": True, "skip_suppression": False}
    | {"ip_pool": "mine", "start_time": "now"},
    "override": {"from": {"email": "me@example.test", "name": "Me"}, "reply_to": "me@example.test"},
    "campaign_id": "c",
    "description": "d",
    "metadata": {"a": 1},
    "substitution_data": {"a": 1},
}
TEMPLATE = {
    "id": "ID",
    "name": "ID",
    "description": "d",
    "published": True,
    "shared_with_subaccounts": True,
    "options": TEMPLATE_OPTIONS,
    "content": CONTENT,
}
PREVIEW = {"content": CONTENT, "substitution_data": {"a": 1}}
SNIPPET = {
    "id": "ID",
    "name": "ID",
    "content": {"text": "Hello", "html": "<p>Hello</p>"},
    "shared_with_subaccounts": True,
}
LIST = {
    "id": "ID",
    "name": "ID",
    "description": "d",
    "attributes": {"a": 1},
    "recipients": [RECIPIENT],
}
SUBACCOUNT = {
    "name": "ID",
    "setup_api_key": True,
    "key_label": "k",
    "key_grants": ["smtp/inject"],
    "key_valid_ips": ["192.0.2.1"],
    "ip_pool": "default",
    "options": SUBACCOUNT_OPTIONS,
}
DOMAIN = {
    "domain": "ID.example.test",
    "generate_dkim": True,
    "dkim_key_length": 1024,
    "shared_with_subaccounts": True,
}
AB_TEST = {
    "id": "ID",
    "name": "ID",
    "metric": "count_unique_clicked",
    "audience_selection": "percent",
    "test_mode": "bayesian",
    "total_sample_size": 1000,
    "confidence_level": 0.99,
    "engagement_timeout": 2,
    "default_template": {"template_id": "t0", "percent": 50},
    "variants": [{"template_id": "t1", "percent": 50}],
}
SUPPRESSION = {
    "recipients": [
        {
            "recipient": "you@inbox.test",
            "email": "you@inbox.test",
            "type": "transactional",
            "description": "d",
            "list_id": "l",
        }
    ]
}
SEEDS = {"threshold": 1000, "duration": 20, "reset": 22, "match": ["a"]}
WRITES = [
    ("POST", "/api/v1/transmissions", TRANSMISSION),
    ("POST", "/api/v1/templates", TEMPLATE),
    ("POST", "/api/v1/utils/content-previewer", PREVIEW),
    ("POST", "/api/v1/utils/content-validator", PREVIEW),
    ("POST", "/api/labs/snippets", SNIPPET),
    ("POST", "/api/v1/recipient-lists", LIST),
    ("POST", "/api/v1/subaccounts", SUBACCOUNT),
    ("POST", "/api/v1/sending-domains", DOMAIN),
    ("POST", "/api/v1/tracking-domains", {"domain": "ID.example.test", "secure": True}),
    ("POST", "/api/v1/api-keys", {"label": "k", "grants": ["smtp/inject"], "valid_ips": []}),
    ("POST", "/api/v1/ip-pools", {"name": "ID", "signing_domain": "", "fbl_signing_domain": ""}),
    ("POST", "/api/v1/ab-test/draft", AB_TEST),
    ("POST", "/api/v1/inline-seeds/config", SEEDS),
    ("PUT", "/api/v1/suppression-list", SUPPRESSION),
]


@pytest.mark.parametrize(("method", "path", "body"), WRITES, ids=[path for _, path, _ in WRITES])
def test_null_counts_as_absent_where_something_is_created_or_sent(
    client: Client, method: str, path: str, body: Json
) -> None:
    make_domain("example.test")
    create(client, "/api/v1/ip-pools", {"name": "mine"})
    for template_id in ("t0", "t1"):
        template = {"id": template_id, "content": CONTENT, "published": True}
        create(client, "/api/v1/templates", template)
    names = iter(range(1000))

    def outcome(fields: Json) -> Any:
        name = f"n{next(names)}"
        response = client.call(method, path, json.loads(json.dumps(fields).replace("ID", name)))
        return response.status, json.dumps(response.body.get("errors")).replace(name, "ID")

    assert outcome(body) == (200, "null")
    for place in _places(body):
        null, absent = json.loads(json.dumps(body)), json.loads(json.dumps(body))
        _inner(null, place)[place[-1]] = None
        del _inner(absent, place)[place[-1]]
        assert outcome(null) == outcome(absent), place


def _places(value: Any, before: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each field of the objects in a body, but not of free data."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _places(each, (*before, index))
    elif isinstance(value, dict):
        for name, each in value.items():
            yield (*before, name)
            if name not in ("metadata", "substitution_data", "attributes"):
                yield from _places(each, (*before, name))


def _inner(body: Any, place: tuple[str | int, ...]) -> Any:
    for step in place[:-1]:
        body = body[step]
    return body


def shown(client: Client, path: str) -> Json:
    """Return what the API shows of a thing, without the times of its changes."""
    results = client.get(path).results
    view: Json = results[0] if isinstance(results, list) else results
    times = ("updated", "updated_at", "last_update_time")
    return {name: value for name, value in view.items() if name not in times}
