"""No route shows or changes things of another owner.

Every declared route that is not public is called with the keys of two accounts and of their
subaccounts, with and without the header, and by signed-in users of theirs, aimed at the things of
every owner that the caller must not reach.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from moto import mock_aws

from app import app
from chalicelib.core.caches import clear_caches
from chalicelib.core.http import ENROLLING, PERSON, PUBLIC, DeclaredRoute
from chalicelib.core.settings import settings
from tests.fake_cloud import aws_requests, create_resources
from tests.unit.calling import Client, Response
from tests.unit.core.gateway_events import event
from tests.unit.isolation import CASES, SEEDS, Case, Owner
from tests.unit.people import make_account, make_key, make_subaccount, make_user, sign_in
from tests.unit.users.mailbox import open_mailbox
from tests.unit.zones import served_zone

NO_CASE = Case()


def case_of(route: DeclaredRoute) -> Case:
    return CASES.get((route.method, route.path), NO_CASE)


def is_refused(route: DeclaredRoute) -> bool:
    """Tell whether the route must refuse a caller who names another owner's thing."""
    case = case_of(route)
    return case.always_refused or ("{" in route.path and not case.own_by_name)


READS = ("GET", "HEAD")
# Routes that create come last: they may create a thing with the name of another owner's. Routes
# that only read come first: a refused change is in the audit log with the id that the caller named.
ROUTES = sorted(
    (route for route in app.declared_routes() if route.grant != PUBLIC),
    key=lambda route: (route.method not in READS, not is_refused(route)),
)
PUBLIC_ROUTES = [route for route in app.declared_routes() if route.grant == PUBLIC]
#: Operations of AWS that change nothing
READ = re.compile(r"(Batch)?Get|Query|Head|List")


@dataclass(frozen=True, slots=True)
class Caller:
    """A key or a user, and a header. ``part`` as in a scope: ``None`` stands for no header."""

    name: str
    client: Client
    account: int
    part: int | None
    confined_to: int | None = None
    exists: bool = True

    def reaches(self, owner: Owner, route: DeclaredRoute, case: Case) -> bool:
        """Tell whether the caller may see or change the owner's things by this route."""
        if case.reach == "user":
            return self.client is owner.browser
        if self.account != owner.account or (route.subaccount_header and not self.exists):
            return False
        if case.reach == "account":
            return self.confined_to is None
        if case.reach == "key":
            return self.confined_to in (None, owner.subaccount)
        if self.part is None:
            return route.method in READS or owner.subaccount is None
        return self.part == (owner.subaccount or 0)


@dataclass(frozen=True, slots=True)
class World:
    """Two accounts, their subaccounts, and all callers."""

    owners: list[Owner]
    callers: list[Caller]


def build() -> World:
    make_account(1, options={"inline_seeds": False})
    make_account(2)
    one, two, far = make_subaccount(1).id, make_subaccount(1).id, make_subaccount(2).id
    first, second = make_key(1), make_key(2)
    people = {
        "first": sign_in(make_user(1), second_factor=True),
        "second": sign_in(make_user(2), second_factor=True),
        "one": sign_in(make_user(1, role="developer", subaccount_id=one), second_factor=True),
        "one's reader": sign_in(make_user(1, role="reporting", subaccount_id=one)),
    }
    owners = [
        Owner(1, None, "alder", first, people["first"]),
        Owner(1, one, "birch", first.on_behalf_of(one), people["one"]),
        Owner(1, two, "cedar", first.on_behalf_of(two)),
        Owner(2, None, "dogwood", second, people["second"]),
    ]
    own = make_key(1, one)
    callers = [
        Caller("first", first, 1, None),
        Caller("first for itself", first.on_behalf_of(0), 1, 0),
        Caller("first for one", first.on_behalf_of(one), 1, one),
        Caller("first for a foreign one", first.on_behalf_of(far), 1, far, exists=False),
        Caller("one", own, 1, one, one),
        Caller("one for two", own.on_behalf_of(two), 1, one, one),
        Caller("second", second, 2, None),
        Caller("second for one of the first", second.on_behalf_of(one), 2, one, exists=False),
        Caller("far", make_key(2, far), 2, far, far),
        Caller("user of the first", people["first"], 1, None),
        Caller("user of the second", people["second"], 2, None),
        Caller("user of one", people["one"], 1, one, one),
        Caller("user of one who reads", people["one's reader"], 1, one, one),
    ]
    for owner in owners:
        primary = owner.client.on_behalf_of(0)
        number = owner.subaccount or {1: two, 2: far}[owner.account]
        owner.things["subaccount_id"] = str(number)
        if owner.subaccount is None:
            primary.put("/api/v1/account", {"company_name": owner.mark})
        else:
            primary.put(f"/api/v1/subaccounts/{number}", {"name": owner.mark})
        for seed in SEEDS:
            seed(owner)
    return World(owners, callers)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RATE_LIMIT_PER_SECOND", "0")
        clear_caches()
        with mock_aws(), open_mailbox(), contextmanager(served_zone)(patch):
            create_resources()
            yield build()
    clear_caches()


def is_for_people(route: DeclaredRoute) -> bool:
    """Tell whether no key may call a route."""
    return route.grant in (PERSON, ENROLLING)


def call(client: Client | None, route: DeclaredRoute, case: Case, owner: Owner) -> Response | None:
    """Call a route for an owner's thing; ``None`` where the owner has no such thing or user."""
    if client is None or case.is_unaimed:
        return None
    path = route.path
    for name in re.findall(r"\{(\w+)\}", path):
        thing = owner.things.get(case.names.get(name, name))
        if thing is None:
            return None
        path = path.replace(f"{{{name}}}", thing)
    try:
        body = case.body(owner) if callable(case.body) else case.body
    except KeyError:
        return None
    return client.call(route.method, path + case.query.format(**owner.things), body)


def raw_call(method: str, path: str) -> str:
    """Call a route without a key and return the body of its response."""
    return str(app(event(app, method, path), None)["body"])


def view(owner: Owner, route: DeclaredRoute) -> list[Any]:
    """Return what an owner sees of its own things of the route's kind, without asking hosts."""
    kind = case_of(route).kind or "/".join(route.path.split("/")[:4])
    routes = [
        each
        for each in ROUTES
        if each.method == "GET" and each.path.startswith(kind) and not app.waits("GET", each.path)
    ]
    client = owner.client if owner.subaccount else owner.client.on_behalf_of(0)
    responses = [
        call(owner.browser if is_for_people(each) else client, each, case_of(each), owner)
        for each in routes
    ]
    return [(each.status, each.body) for each in responses if each]


def test_every_route_has_a_case_and_every_case_a_route() -> None:
    declared = {(route.method, route.path) for route in ROUTES}
    assert declared - CASES.keys() == set(), "say in tests/unit/isolation.py whom it reaches"
    assert CASES.keys() - declared == set()


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
@pytest.mark.spec("5-r6")
@pytest.mark.spec("2.6-t1")
def test_no_caller_reaches_the_things_of_another_owner(world: World, route: DeclaredRoute) -> None:
    case = case_of(route)
    for owner in world.owners:
        before = [] if route.method in READS else view(owner, route)
        for caller in world.callers:
            if not caller.reaches(owner, route, case):
                unreached = [each for each in world.owners if not caller.reaches(each, route, case)]
                check_response(call(caller.client, route, case, owner), route, caller, unreached)
        assert before == ([] if route.method in READS else view(owner, route))


@pytest.mark.cost
@pytest.mark.parametrize(
    "route",
    [route for route in ROUTES if route.method in READS],
    ids=lambda route: f"{route.method} {route.path}",
)
def test_reading_changes_nothing(world: World, route: DeclaredRoute) -> None:
    for owner in world.owners:
        with aws_requests() as requests:
            client = owner.browser if is_for_people(route) else owner.client
            call(client, route, case_of(route), owner)
        assert [each.operation for each in requests if not READ.match(each.operation)] == []


def check_response(
    response: Response | None, route: DeclaredRoute, caller: Caller, unreached: list[Owner]
) -> None:
    """Check that a response shows nothing of the owners that the caller does not reach."""
    if response is None:
        return
    for owner in unreached:
        context = f"{caller.name} → {owner.tag}: {response}"
        is_company = owner.account == caller.account and owner.subaccount is None
        if not (case_of(route).names_company and is_company):
            assert owner.mark not in str(response.body), context
        if case_of(route).reach == "account" and caller.confined_to is not None:
            assert response.status in (403, 404), context
        if is_refused(route):
            assert response.status in (400, 403, 404, 409, 422), context
        elif route.method in READS and "{" not in route.path and not case_of(route).names_company:
            assert owner.tag not in str(response.body), context


@pytest.mark.parametrize("route", PUBLIC_ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_a_route_without_a_key_shows_nothing_to_a_caller_who_guesses_ids(
    world: World, route: DeclaredRoute
) -> None:
    for owner in world.owners:
        for guess in ("1", *owner.things.values()):
            response = raw_call(route.method, re.sub(r"\{\w+\}", guess, route.path))
            assert owner.mark not in response


def test_owners_see_their_own_marks(world: World) -> None:
    for owner in world.owners:
        assert owner.mark in str(view(owner, DeclaredRoute("GET", "/api/v1/api-keys", "")))
    assert settings().rate_limit_per_second == 0


#: The order in which an owner can do everything with its own things
_LAST = {"GET": 0, "POST": 1, "PUT": 2, "DELETE": 3}


def test_an_owner_reaches_its_own_things_by_every_route(world: World) -> None:
    """Without this, the test of other owners could pass because every call fails."""
    refusals: list[str] = []
    in_order = sorted(ROUTES, key=lambda each: (_LAST[each.method], -len(each.path)))
    for route in in_order:
        case = case_of(route)
        if route.path.endswith("/verify"):
            continue
        for owner in world.owners:
            if case.primary_only and owner.subaccount:
                continue
            client = owner.browser if is_for_people(route) else owner.client
            response = call(client, route, case, owner)
            # The state of a thing may forbid the call (409, 422), but not who the caller is.
            if response and (response.status in (401, 403, 404) or response.status >= 500):
                refusals.append(f"{owner.tag}: {route.method} {route.path}: {response}")
    assert refusals == []
