"""Every route that changes something writes one line of the audit log with the change.

The routes are those of the isolation test (``isolation``), called by a signed-in administrator of
an account that owns one thing of each kind.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from moto import mock_aws

from app import app
from chalicelib.core import audit, clock, system_mailer
from chalicelib.core.caches import clear_caches
from chalicelib.core.dynamo import AnyItem, Table
from chalicelib.core.http import DeclaredRoute
from chalicelib.core.json_types import Json
from chalicelib.core.routes import NO_GRANTS
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.inbound_domains import store as inbound_domains
from chalicelib.inbound_domains.model import InboundDomain
from chalicelib.tracking_domains import store as tracking_domains
from chalicelib.tracking_domains.model import VALID
from tests.fake_cloud import create_resources
from tests.http_target import serving
from tests.unit import isolation
from tests.unit.calling import Client
from tests.unit.core.gateway_events import event
from tests.unit.fleet import examples as fleet
from tests.unit.isolation import CASES, SEEDS, Owner
from tests.unit.key_pairs import PAIR
from tests.unit.people import make_account, make_key, make_subaccount, make_user, sign_in
from tests.unit.zones import served_zone

_CHECK = "a check, which is a line where it changes a status"
#: Routes that change nothing that people decide, and why
NO_LINE = {
    "POST /api/v1/inbound-domains/{domain}/verify": _CHECK,
    "POST /api/v1/sending-domains/{domain}/dkim-keys/{key_id}/verify": _CHECK,
    "POST /api/v1/sending-domains/{domain}/verify": _CHECK,
    "POST /api/v1/templates/{template_id}/preview": "a preview",
    "POST /api/v1/tracking-domains/{domain}/verify": _CHECK,
    "POST /api/v1/utils/content-previewer": "a preview",
    "POST /api/v1/utils/content-validator": "a check of content",
    "POST /api/v1/relay-webhooks/{webhook_id}/validate": "a test of the target",
    "POST /api/v1/webhooks/{webhook_id}/validate": "a test of the target",
}
ROUTES = [
    route
    for route in app.declared_routes()
    if route.method in ("POST", "PUT", "DELETE") and route.grant not in NO_GRANTS
]
CHANGES = [route for route in ROUTES if f"{route.method} {route.path}" not in NO_LINE]
#: Routes that refuse no body: what is wrong with it shows later
TAKES_ALL = {"POST /api/v1/ingest/events"}
SECRET = "open-sesame-marker"  # pragma: allowlist secret

_audit: Table[AnyItem] = Table("audit")
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class World:
    """An account with its things and its administrator; ``target`` takes what webhooks post."""

    owner: Owner
    user_id: str
    target: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The status and body of a response, and the lines of the request."""

    status: int
    body: Any
    lines: list[AnyItem]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with (
        pytest.MonkeyPatch.context() as patch,
        mock_aws(),
        serving() as target,
        contextmanager(served_zone)(patch),
    ):
        for name in ("ALLOW_PRIVATE_ADDRESSES", "WEBHOOK_ANY_PORT"):
            patch.setenv(name, "true")
        patch.setenv("RATE_LIMIT_PER_SECOND", "0")
        patch.setattr(system_mailer, "_mailers", [lambda **_: None])
        clear_caches()
        create_resources()
        make_account(options={"inline_seeds": False})
        user = make_user(email="ann@acme.example")
        owner = Owner(1, None, "alder", sign_in(user))
        for seed in SEEDS:
            seed(owner)
        fleet.add(fleet.an_ip(1))
        owner.things |= {"external_ip": "192.0.2.1", "subaccount_id": str(make_subaccount().id)}
        name = owner.things["tracking_domain"]
        tracking_domains.change(
            Scope(1, PRIMARY), name, lambda each: replace(each, cname_status=VALID)
        )
        yield World(owner, user.id, target.url)
    clear_caches()


def request(client: Client, method: str, path: str, body: Any = None) -> Outcome:
    """Make a request and return the lines that it wrote."""
    request_id = f"own-{next(_numbers)}"
    path, _, query = path.partition("?")
    pairs = dict(pair.split("=") for pair in query.split("&") if pair)
    message = event(
        app,
        method,
        path,
        query={name: [text] for name, text in pairs.items()},
        headers={"Content-Type": "application/json", **client.headers},
        body=b"" if body is None else json.dumps(body).encode(),
        request_id=request_id,
        source_ip="192.0.2.44",
    )
    response = app(message, None)
    text = response["body"]
    items = _audit.query_all("#pk = :pk", {"pk": audit.partition(1, clock.now_ms())})
    own = [item for item in items if item["request_id"] == request_id]
    is_json = not response["isBase64Encoded"]
    return Outcome(response["statusCode"], json.loads(text) if is_json else text, own)


def path_of(route: DeclaredRoute, things: dict[str, str]) -> str:
    case = CASES[route.method, route.path]
    names = re.findall(r"\{(\w+)\}", route.path)
    path = route.path
    for name in names:
        path = path.replace(f"{{{name}}}", things[case.names.get(name, name)])
    return path + case.query.format(**things)


def body_of(route: DeclaredRoute, world: World) -> Any:
    """Return a body that changes something: that of the isolation test, but for new ids."""
    name = f"{route.method} {route.path}"
    if name in BODIES:
        return BODIES[name](world)
    body = CASES[route.method, route.path].body
    body = body(world.owner) if callable(body) else body
    is_new = route.method == "POST" and "id" in (body or {})
    return {**body, "id": f"new-{next(_numbers)}"} if is_new else body


#: Routes that create something, the id of which is in the response
NEW = {
    *(f"POST /api/v1/{name}" for name in ("ab-test", "ab-test/draft", "api-keys", "ip-pools")),
    *(f"POST /api/v1/{name}" for name in ("recipient-lists", "sending-domains", "users")),
    *(f"POST /api/v1/{name}" for name in ("subaccounts", "templates", "tracking-domains")),
    *("POST /api/v1/transmissions", "POST /api/v1/webhooks", "POST /api/labs/snippets"),
    "POST /api/v1/relay-webhooks",
}


def new_name() -> str:
    return f"new-{next(_numbers)}"


def _new_inbound_domain(world: World) -> str:
    name = f"{new_name()}.test"
    inbound_domains.create(InboundDomain(name, world.owner.account, clock.now_ms()))
    return name


BODIES: dict[str, Callable[[World], Json]] = {
    "POST /api/v1/inbound-domains": lambda _: {"domain": f"{new_name()}.test"},
    "POST /api/v1/ip-pools": lambda _: {"name": new_name()},
    "POST /api/v1/sending-domains": lambda _: {"domain": f"{new_name()}.test"},
    "POST /api/v1/sending-domains/{domain}/dkim-keys": lambda _: {
        "id": (name := new_name()),
        "selector": name,
    },
    "POST /api/v1/tracking-domains": lambda _: {"domain": f"{new_name()}.test"},
    "POST /api/v1/relay-webhooks": lambda world: {
        "target": world.target,
        "match": {"domain": _new_inbound_domain(world)},
    },
    "POST /api/v1/webhooks": lambda world: {
        "name": "new",
        "target": world.target,
        "events": ["delivery"],
    },
    "PUT /api/v1/inline-seeds/config": lambda _: {"exclude": [new_name()]},
    "PUT /api/v1/sending-domains/{domain}": lambda _: {"shared_with_subaccounts": True},
    "PUT /api/v1/sending-ips/{external_ip}": lambda world: {
        "ip_pool": world.owner.things["pool_id"]
    },
}


def _again(seed: Callable[[Owner], None]) -> Callable[[World], None]:
    return lambda world: seed(world.owner)


def _pool_without_ips(world: World) -> None:
    name = world.owner.client.post("/api/v1/ip-pools", {"name": new_name()}).results["id"]
    world.owner.things["pool_id"] = name


def _cancel_transmissions(world: World) -> None:
    client, campaign = world.owner.client, world.owner.things["campaign_id"]
    client.delete(f"/api/v1/transmissions?campaign_id={campaign}")


def _one_transmission(world: World) -> None:
    _cancel_transmissions(world)
    isolation._transmission(world.owner)


def _unused_ab_test(world: World) -> None:
    path = f"/api/v1/ab-test/{world.owner.things['ab_test']}/cancel"
    world.owner.client.post(path, {})


def _unused_template(world: World) -> None:
    body = isolation._new_template(world.owner) | {"id": new_name()}
    template = world.owner.client.post("/api/v1/templates", body).results["id"]
    world.owner.things["template_id"] = template


#: What must be so before a route is called
BEFORE: dict[str, Callable[[World], None]] = {
    "DELETE /api/v1/ab-test/{test_id}": _unused_ab_test,
    "DELETE /api/v1/sending-domains/{domain}": _cancel_transmissions,
    "DELETE /api/v1/suppression-list/{recipient}": _again(isolation._suppressed),
    "DELETE /api/v1/ip-pools/{pool_id}": _pool_without_ips,
    "DELETE /api/v1/templates/{template_id}": _unused_template,
    "DELETE /api/v1/transmissions": _one_transmission,
    "DELETE /api/v1/transmissions/{transmission_id}": _again(isolation._transmission),
}


def _order(route: DeclaredRoute) -> tuple[bool, bool, int]:
    """Order routes so that things are deleted last, and those that others need after these."""
    if route.method != "DELETE":
        return False, route.method == "POST", -len(route.path)
    return True, "sending-domains" in route.path, -len(route.path)


def _name(route: DeclaredRoute) -> str:
    return f"{route.method} {route.path}"


@pytest.mark.parametrize("route", sorted(CHANGES, key=_order), ids=_name)
def test_a_change_writes_one_line(world: World, route: DeclaredRoute) -> None:
    BEFORE.get(_name(route), lambda _: None)(world)
    path = path_of(route, world.owner.things)
    outcome = request(world.owner.client, route.method, path, body_of(route, world))
    assert outcome.status in (200, 201, 202, 204), outcome
    assert len(outcome.lines) == 1, outcome
    (line,) = outcome.lines
    assert (line["actor_type"], line["actor_id"]) == ("user", world.user_id)
    assert (line["action"], line["path"], line["outcome"]) == (route.method, route.path, "done")
    assert line["resource"] == re.sub(r"/api/(v1|labs)/", "", route.path).split("/")[0]
    assert line["ip"] == "192.0.2.44"
    owner = int(line["resource_id"]) if line["resource"] == "subaccounts" else None
    assert line.get("subaccount_id") == owner
    if match := re.search(r"\{(\w+)\}", route.path):
        case = CASES[route.method, route.path]
        name = world.owner.things[case.names.get(match[1], match[1])]
        assert line["resource_id"] == name
    elif _name(route) in NEW:
        values = [str(value) for value in outcome.body["results"].values()]
        assert line["resource_id"] in values


@pytest.mark.parametrize("route", ROUTES, ids=_name)
def test_a_change_that_is_refused_for_want_of_a_grant_is_a_line(
    world: World, route: DeclaredRoute
) -> None:
    user = make_user(role="custom", grants=("metrics/view",))
    path = path_of(route, world.owner.things)
    outcome = request(sign_in(user), route.method, path, {})
    assert outcome.status == 403
    (line,) = outcome.lines
    assert (line["actor_id"], line["outcome"], line["changes"]) == (user.id, "refused", "{}")
    assert (line["action"], line["path"]) == (route.method, route.path)


@pytest.mark.parametrize(
    "route", [each for each in CHANGES if _name(each) not in TAKES_ALL], ids=_name
)
def test_a_request_that_is_refused_otherwise_is_no_line(world: World, route: DeclaredRoute) -> None:
    path = re.sub(r"\{\w+\}", "none", route.path)
    outcome = request(world.owner.client, route.method, path, [])
    assert 400 <= outcome.status < 500
    assert outcome.status != 403
    assert outcome.lines == []


def test_no_line_holds_a_secret_of_a_body_or_of_a_response(world: World) -> None:
    client = world.owner.client
    webhook = {
        "name": "secrets",
        "target": world.target,
        "events": ["delivery"],
        "auth_token": SECRET,
        "auth_type": "basic",
        "auth_credentials": {"username": "me", "password": SECRET},
        "custom_headers": {"X-Key": SECRET},
    }
    private = "".join(PAIR.private_pem.split("\n")[1:-2])
    requests: list[tuple[str, Json, list[str]]] = [
        ("/webhooks", webhook, []),
        ("/api-keys", {"label": "x", "grants": ["smtp/inject"]}, ["key"]),
        (
            "/subaccounts",
            {"name": "x", "setup_api_key": True, "key_label": "x", "key_grants": ["smtp/inject"]},
            ["key"],
        ),
        ("/sending-domains", {"domain": "s.test", "dkim": {"private": PAIR.private_pem}}, []),
        (
            "/sending-domains/s.test/dkim-keys",
            {"id": "further", "selector": "further", "private": PAIR.private_pem},
            [],
        ),
    ]
    secrets = [SECRET, private[:40], private[-40:]]
    for path, body, names in requests:
        outcome = request(client, "POST", f"/api/v1{path}", body)
        assert outcome.status == 200, outcome
        assert len(outcome.lines) == 1, outcome
        secrets += [outcome.body["results"][name] for name in names]
        if path == "/webhooks":
            own = f"/api/v1/webhooks/{outcome.body['results']['id']}"
            change = webhook | {"auth_token": f"other {SECRET}"}
            assert request(client, "PUT", own, change).status == 200
            signing = request(client, "POST", f"{own}/signing-secret", {})
            secrets += [str(value) for value in signing.body["results"].values()]
    assert len(secrets) > 5
    items = [*_audit.query_all("#pk = :pk", {"pk": audit.partition(1, clock.now_ms())})]
    text = json.dumps(items, default=str).replace("\\\\n", "")
    assert [secret for secret in secrets if secret in text] == []


def test_an_api_key_is_the_actor_by_its_label(world: World) -> None:
    key = make_key(grants=["templates/modify"])
    outcome = request(
        Client("", {"Authorization": key.key}),
        "POST",
        "/api/labs/snippets",
        {"id": new_name(), "content": {"text": "Hello"}},
    )
    (line,) = outcome.lines
    assert (line["actor_type"], line["actor_label"]) == ("key", "tests")
    assert key.key not in json.dumps(line, default=str)
