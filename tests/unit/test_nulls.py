"""Null in an update removes what is optional, by the same rule in every resource."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.sending_domains import store as domains
from tests.unit.calling import Client
from tests.unit.people import make_account, make_domain, make_key, make_subaccount
from tests.unit.sending_domains.examples import domain

Json = dict[str, Any]
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
    body = {
        "content": {"from": "me@example.test", "subject": "Hello", "text": "Hello"},
        "recipients": [{"address": "you@inbox.test", "options": {"open_tracking": None}}],
    }
    for options in (None, dict.fromkeys(names)):
        assert client.post("/api/v1/transmissions", body | {"options": options}).status == 200


def shown(client: Client, path: str) -> Json:
    """Return what the API shows of a thing, without the times of its changes."""
    results = client.get(path).results
    view: Json = results[0] if isinstance(results, list) else results
    times = ("updated", "updated_at", "last_update_time")
    return {name: value for name, value in view.items() if name not in times}
