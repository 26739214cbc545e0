from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.ab_tests import routes
from chalicelib.core import clock
from chalicelib.core.http import App
from chalicelib.core.request import Caller, Request
from chalicelib.core.scope import Scope
from tests.unit.ab_tests.examples import DAY, START, template
from tests.unit.core.gateway_events import event

pytestmark = pytest.mark.usefixtures("cloud")

TEST: dict[str, Any] = {
    "name": "Payment Confirmation",
    "metric": "count_unique_clicked",
    "audience_selection": "percent",
    "test_mode": "bayesian",
    "start_time": "2026-09-21T14:13:20Z",
    "default_template": {"template_id": "t0", "percent": 60},
    "variants": [{"template_id": "t1", "percent": 40}],
}
DRAFT = {"name": "Payment Confirmation", "default_template": {"template_id": "t0"}}
PATH = "/api/v1/ab-test"
ONE = f"{PATH}/payment-confirmation"
DRAFT_PATH = f"{PATH}/draft/payment-confirmation"


class Client:
    """Calls the routes as API Gateway does, as a caller for the account or a part of it."""

    def __init__(self) -> None:
        self.app = App("test", authenticate=self._caller)
        self.app.register_blueprint(routes.routes)

    @staticmethod
    def _caller(request: Request, *, subaccount_header: bool) -> Caller:
        part = request.headers.get("part")
        spans = request.method == "GET" and part is None
        grants = frozenset(request.headers.get("grants", routes.GRANT).split())
        return Caller(Scope(1, None if spans else int(part or 0)), "key", grants)

    def __call__(
        self, method: str, path: str, body: Any = None, *, query: str = "", **headers: str
    ) -> tuple[int, Any]:
        name, _, value = query.partition("=")
        response = self.app(
            event(
                self.app,
                method,
                path,
                query={name: [value]} if name else None,
                headers={"content-type": "application/json", **headers},
                body=b"" if body is None else json.dumps(body).encode(),
            ),
            None,
        )
        text = response["body"]
        return response["statusCode"], json.loads(text) if text else None


@pytest.fixture
def call() -> Iterator[Client]:
    """Return a client whose calls are made a day before the test starts."""
    template("t0"), template("t1")
    with clock.use(lambda: (START - DAY) / 1000):
        yield Client()


def results(response: tuple[int, Any], status: int = 200) -> Any:
    assert response[0] == status, response
    return response[1]["results"]


def is_refused(response: tuple[int, Any], status: int) -> bool:
    return response[0] == status and all(
        set(error) == {"message"} for error in response[1]["errors"]
    )


def test_a_test_is_created_shown_changed_cancelled_and_deleted(call: Client) -> None:
    assert results(call("POST", PATH, TEST)) == {"id": "payment-confirmation"}
    view = results(call("GET", ONE))
    assert (view["status"], view["version"]) == ("scheduled", 1)
    assert view["variants"][0]["template_id"] == "t1"
    assert results(call("PUT", ONE, {"name": "New"})) == {"version": 1}
    assert results(call("GET", ONE))["name"] == "New"
    assert results(call("POST", f"{ONE}/cancel")) == {"status": "cancelled"}
    assert call("DELETE", ONE) == (204, None)
    assert is_refused(call("GET", ONE), 404)


def test_a_draft_is_created_shown_changed_and_scheduled(call: Client) -> None:
    reply = {"id": "payment-confirmation"}
    assert results(call("POST", f"{PATH}/draft", DRAFT)) == reply
    assert results(call("GET", DRAFT_PATH))["status"] == "draft"
    assert results(call("GET", ONE)) == results(call("GET", DRAFT_PATH))
    rest = {name: TEST[name] for name in ("metric", "audience_selection", "test_mode")}
    shares = {name: TEST[name] for name in ("default_template", "variants")}
    assert results(call("PUT", DRAFT_PATH, rest | shares)) == reply
    assert is_refused(call("POST", f"{DRAFT_PATH}/schedule"), 400)
    times = {"start_time": TEST["start_time"], "engagement_timeout": 4}
    assert results(call("POST", f"{DRAFT_PATH}/schedule", times)) == reply
    view = results(call("GET", ONE))
    assert (view["status"], view["engagement_timeout"]) == ("scheduled", 4)
    assert is_refused(call("GET", DRAFT_PATH), 404)


def test_a_draft_is_deleted_by_its_own_path(call: Client) -> None:
    call("POST", f"{PATH}/draft", DRAFT)
    assert is_refused(call("DELETE", ONE), 409)
    assert call("DELETE", DRAFT_PATH) == (204, None)
    assert is_refused(call("DELETE", DRAFT_PATH), 404)


def test_tests_are_listed_by_status(call: Client) -> None:
    call("POST", PATH, TEST)
    call("POST", f"{PATH}/draft", DRAFT | {"name": "Other"})
    tests = results(call("GET", PATH))
    assert [(each["id"], each["status"]) for each in tests] == [
        ("other", "draft"),
        ("payment-confirmation", "scheduled"),
    ]
    scheduled = results(call("GET", PATH, query="status=scheduled"))
    assert [each["id"] for each in scheduled] == ["payment-confirmation"]
    assert results(call("GET", PATH, query="status=running")) == []
    assert is_refused(call("GET", PATH, query="status=new"), 400)


def test_a_request_may_name_a_version(call: Client) -> None:
    call("POST", PATH, TEST)
    call("POST", f"{ONE}/cancel")
    assert results(call("PUT", ONE, {"start_time": TEST["start_time"]})) == {"version": 2}
    assert results(call("GET", ONE))["version"] == 2
    assert results(call("GET", ONE, query="version=1"))["status"] == "cancelled"
    assert is_refused(call("GET", ONE, query="version=3"), 404)
    for bad in ("0", "-1", "x", "1.0", "123456789", "²"):
        assert is_refused(call("GET", ONE, query=f"version={bad}"), 400), bad
    assert is_refused(call("PUT", ONE, {"name": "x"}, query="version=1"), 409)
    assert call("DELETE", ONE, query="version=1") == (204, None)


def test_a_broken_rule_is_refused_with_messages(call: Client) -> None:
    assert is_refused(call("POST", PATH, {}), 400)
    assert is_refused(call("POST", PATH, TEST | {"metric": "x"}), 400)
    assert is_refused(call("POST", PATH, TEST | {"variants": []}), 400)
    assert is_refused(call("POST", f"{PATH}/draft", {"name": "x"}), 400)
    call("POST", PATH, TEST)
    assert is_refused(call("POST", PATH, TEST), 409)
    assert is_refused(call("PUT", ONE, {"id": "other"}), 400)
    assert is_refused(call("POST", f"{ONE}/cancel-all"), 404)


def test_an_id_may_be_any_word_of_the_paths_but_draft(call: Client) -> None:
    assert is_refused(call("POST", PATH, TEST | {"id": "draft"}), 400)
    for name in ("cancel", "schedule"):
        assert results(call("POST", f"{PATH}/draft", DRAFT | {"id": name})) == {"id": name}
        assert results(call("GET", f"{PATH}/draft/{name}"))["id"] == name
        assert results(call("GET", f"{PATH}/{name}"))["id"] == name


def test_a_subaccount_has_tests_of_its_own(call: Client) -> None:
    template("t0", part=7)
    assert results(call("POST", f"{PATH}/draft", DRAFT, part="7")) == {"id": "payment-confirmation"}
    assert results(call("GET", ONE, part="7"))["subaccount_id"] == 7
    assert results(call("GET", ONE))["subaccount_id"] == 7
    assert is_refused(call("GET", ONE, part="0"), 404)
    assert is_refused(call("PUT", DRAFT_PATH, {"name": "x"}), 404)
    assert results(call("GET", PATH, part="0")) == []


@pytest.mark.spec("5-r5")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", PATH),
        ("GET", PATH),
        ("GET", ONE),
        ("PUT", ONE),
        ("DELETE", ONE),
        ("POST", f"{ONE}/cancel"),
        ("POST", f"{PATH}/draft"),
        ("GET", DRAFT_PATH),
        ("PUT", DRAFT_PATH),
        ("DELETE", DRAFT_PATH),
        ("POST", f"{DRAFT_PATH}/schedule"),
    ],
)
def test_every_route_takes_the_grant(method: str, path: str, call: Client) -> None:
    assert call(method, path, {}, grants="templates/view")[0] == 403
    assert call(method, path, {})[0] not in (403, 405)
