"""Templates of a scheduled or running A/B test cannot be deleted, as those of transmissions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.ab_tests import leases as ab_test_leases
from chalicelib.ab_tests import service
from chalicelib.ab_tests.decisions import decide_due
from chalicelib.ab_tests.model import HOUR_MS, AbTest
from chalicelib.ab_tests.request import read, read_new
from chalicelib.ab_tests.store import versions
from chalicelib.core.dynamo import Item
from chalicelib.core.scope import Scope
from chalicelib.templates.model import Edit, Template, new_template
from chalicelib.templates.store import leases, records
from infrastructure.bootstrap import ensure_sample_template
from tests.unit.ab_tests.examples import DAY, START, template
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.refusals import refusal
from tests.unit.templates.api import CONTENT

BEFORE, DURING, AFTER = START - DAY, START + HOUR_MS, START + DAY + 24 * HOUR_MS
SCOPE = Scope(1, 0)
SUBACCOUNT = Scope(1, 7)
FIELDS: dict[str, Any] = {
    "id": "welcome",
    "name": "Welcome",
    "metric": "count_unique_clicked",
    "audience_selection": "percent",
    "test_mode": "bayesian",
    "start_time": "2026-09-21T14:13:20Z",
    "end_time": "2026-09-22T14:13:20Z",
    "default_template": {"template_id": "t0", "percent": 60},
    "variants": [{"template_id": "t1", "percent": 40}],
}
WITH_T2: dict[str, Any] = {"variants": [{"template_id": "t2", "percent": 40}]}


@pytest.fixture(autouse=True)
def now(cloud: None) -> Iterator[Clock]:
    """Stop the clock a day before the test starts."""
    for name in ("t0", "t1", "t2"):
        template(name)
    with moving_clock(BEFORE / 1000) as moving:
        yield moving


def create(*, draft: bool = False, scope: Scope = SCOPE, **fields: Any) -> AbTest:
    body, name, default = read_new(FIELDS | fields)
    return service.create(scope, body, name, default, draft=draft)


def delete_template(name: str, scope: Scope = SCOPE) -> None:
    assert leases.delete(scope, name)


def assert_in_use(*names: str, scope: Scope = SCOPE) -> None:
    for name in names:
        error = refusal(leases.delete, scope, name)
        assert (error.status, error.errors[0]["code"]) == (409, "1602")
        assert error.errors[0]["description"] == "Template is in use by A/B test 'welcome'"
        assert records.get(scope.account_id, scope.owner, name) is not None


@pytest.mark.spec("3-t5")
@pytest.mark.parametrize("at_ms", [BEFORE, DURING])
def test_the_templates_of_a_scheduled_or_running_test_are_in_use(now: Clock, at_ms: int) -> None:
    create()
    now.now_ms = at_ms
    assert_in_use("t0", "t1")
    delete_template("t2")


def test_those_of_a_draft_are_not_in_use_until_it_is_scheduled() -> None:
    create(draft=True)
    service.schedule(SCOPE, "welcome", read({}))
    assert_in_use("t0", "t1")
    service.cancel(SCOPE, "welcome")
    service.update_draft(SCOPE, "welcome", read({}))
    delete_template("t0")


@pytest.mark.parametrize("state", ["cancelled", "completed"])
def test_those_of_a_test_that_ended_can_be_deleted(now: Clock, state: str) -> None:
    create()
    now.now_ms = DURING
    if state == "cancelled":
        service.cancel(SCOPE, "welcome")
    else:
        now.now_ms = AFTER
        assert_in_use("t0", "t1")
        decide_due(AFTER, lambda _: None)
    delete_template("t0")
    delete_template("t1")


def test_a_test_that_gets_other_templates_releases_those_before() -> None:
    create()
    service.update(SCOPE, "welcome", read(WITH_T2), None)
    assert_in_use("t0", "t2")
    delete_template("t1")


def test_a_new_version_leases_its_templates() -> None:
    create()
    service.cancel(SCOPE, "welcome")
    times = {"start_time": "2026-11-01T00:00:00Z", "end_time": "2026-11-02T00:00:00Z"}
    service.update(SCOPE, "welcome", read(WITH_T2 | times), None)
    assert_in_use("t0", "t2")
    delete_template("t1")


def test_a_test_that_is_refused_leases_nothing() -> None:
    create()
    assert refusal(create, **WITH_T2).status == 409
    delete_template("t2")


def test_a_subaccount_s_test_leases_the_shared_templates_that_it_uses() -> None:
    for name in ("s0", "s1"):
        edit = Edit(published=True, shared=True)
        assert records.create(new_template(SCOPE, name, edit), CONTENT)
    shares = {
        "default_template": {"template_id": "s0", "percent": 60},
        "variants": [{"template_id": "s1", "percent": 40}],
    }
    create(scope=SUBACCOUNT, **shares)
    template("s0", part=7)
    delete_template("s0", SUBACCOUNT)
    assert_in_use("s0", "s1")
    service.cancel(SUBACCOUNT, "welcome")
    delete_template("s0")


def test_the_service_s_sample_needs_no_lease() -> None:
    ensure_sample_template()
    sample = {"template_id": "my-first-email", "percent": 40}
    test = create(variants=[sample])
    assert [share.template_id for share in test.variants] == ["my-first-email"]
    assert_in_use("t0")


@pytest.mark.parametrize(
    ("module", "step"), [(ab_test_leases, "changes"), (versions, "create"), (versions, "_creation")]
)
def test_a_template_deleted_while_the_test_is_scheduled_refuses_the_test(
    monkeypatch: pytest.MonkeyPatch, module: Any, step: str
) -> None:
    take_step = getattr(module, step)

    def deleted_meanwhile(*arguments: Any) -> Any:
        monkeypatch.setattr(module, step, take_step)
        delete_template("t1")
        return take_step(*arguments)

    monkeypatch.setattr(module, step, deleted_meanwhile)
    error = refusal(create)
    assert error.status == 400
    assert "'t1' does not exist" in str(error)
    assert versions.latest(1, "welcome") is None
    delete_template("t0")


def test_a_test_scheduled_during_a_slow_deletion_keeps_its_template(
    now: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    current_lease = leases._current_lease

    def scheduled_meanwhile(template: Template) -> Item | None:
        monkeypatch.setattr(leases, "_current_lease", current_lease)
        lease = current_lease(template)
        now.now += 60
        create()
        return lease

    monkeypatch.setattr(leases, "_current_lease", scheduled_meanwhile)
    assert_in_use("t0")
