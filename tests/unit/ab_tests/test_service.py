from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.ab_tests import service
from chalicelib.ab_tests.decisions import decide_due
from chalicelib.ab_tests.model import HOUR_MS, AbTest, Counts, Share
from chalicelib.ab_tests.request import read, read_new
from chalicelib.ab_tests.store import sample, versions
from chalicelib.core import clock, due
from chalicelib.core.scope import Scope
from tests.unit.ab_tests.examples import DAY, START, again, engaged, template
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.refusals import refusal

pytestmark = pytest.mark.usefixtures("cloud")

SCOPE = Scope(1, 0)
BEFORE, DURING, AFTER = START - DAY, START + HOUR_MS, START + DAY + 24 * HOUR_MS

FIELDS: dict[str, Any] = {
    "name": "Welcome",
    "metric": "count_unique_clicked",
    "audience_selection": "percent",
    "test_mode": "bayesian",
    "start_time": "2026-09-21T14:13:20Z",
    "end_time": "2026-09-22T14:13:20Z",
    "default_template": {"template_id": "t0", "percent": 60},
    "variants": [{"template_id": "t1", "percent": 40}],
}
AGAIN = {"start_time": "2026-11-01T00:00:00Z", "end_time": "2026-11-02T00:00:00Z"}


@pytest.fixture
def now() -> Iterator[Clock]:
    """Stop the clock a day before the test starts."""
    for name in ("t0", "t1", "t2"):
        template(name)
    with moving_clock(BEFORE / 1000) as moving:
        yield moving


def create(*, draft: bool = False, scope: Scope = SCOPE, **fields: Any) -> AbTest:
    body, name, default = read_new(FIELDS | fields)
    return service.create(scope, body, name, default, draft=draft)


def update(version: int | None = None, **fields: Any) -> AbTest:
    return service.update(SCOPE, "welcome", read(fields), version)


def update_draft(**fields: Any) -> AbTest:
    return service.update_draft(SCOPE, "welcome", read(fields))


def schedule(**fields: Any) -> AbTest:
    return service.schedule(SCOPE, "welcome", read(fields))


def cancel() -> AbTest:
    return service.cancel(SCOPE, "welcome")


def delete(version: int | None = None) -> None:
    service.delete(SCOPE, "welcome", version)


def status() -> str:
    return service.find(SCOPE, "welcome").status(clock.now_ms())


def refused_status(call: Any, *arguments: Any, **fields: Any) -> int:
    error = refusal(call, *arguments, **fields)
    assert all(set(each) == {"message"} for each in error.errors)
    return error.status


def reach(state: str, now: Clock) -> None:
    """Bring the test into a state."""
    create(draft=state == "draft")
    now.now_ms = {"running": DURING, "completed": AFTER}.get(state, BEFORE)
    if state == "cancelled":
        cancel()
    if state == "completed":
        decide_due(AFTER, lambda _: None)


def test_a_test_goes_from_draft_to_completion(now: Clock) -> None:
    create(draft=True)
    assert status() == "draft"
    schedule()
    assert status() == "scheduled"
    now.now_ms = DURING
    assert status() == "running"
    engaged(service.find(SCOPE, "welcome"), "t1", 9, 9)
    engaged(service.find(SCOPE, "welcome"), "t0", 9, 1)
    now.now_ms = AFTER
    decide_due(AFTER, lambda _: None)
    assert status() == "completed"
    assert service.find(SCOPE, "welcome").winning_template_id == "t1"


def test_a_scheduled_test_is_stored_with_its_defaults(now: Clock) -> None:
    test = again(create(id="hello"))
    assert (test.id, test.version, test.state) == ("hello", 1, "scheduled")
    assert (test.confidence_level, test.engagement_timeout) == (0.95, 24)
    assert (test.created_ms, test.updated_ms) == (BEFORE, BEFORE)
    assert test.due_ms == START + 300_000
    assert again(create()).id == "welcome"


def test_an_id_that_is_taken_is_refused(now: Clock) -> None:
    create()
    assert refused_status(create) == 409
    assert refused_status(create, id="welcome", name="Other", draft=True) == 409
    assert service.find(SCOPE, "welcome").name == "Welcome"


def test_a_test_that_breaks_a_rule_is_not_stored(now: Clock) -> None:
    assert refused_status(create, variants=[]) == 400
    assert refused_status(create, variants=[{"template_id": "unknown", "percent": 40}]) == 400
    assert versions.latest(1, "welcome") is None


def test_a_draft_needs_a_name_and_a_default_template_only(now: Clock) -> None:
    body, name, default = read_new({"name": "Welcome", "default_template": {"template_id": "t0"}})
    draft = again(service.create(SCOPE, body, name, default, draft=True))
    assert (draft.state, draft.variants, draft.due_ms) == ("draft", (), None)
    assert refused_status(schedule) == 400
    schedule(**FIELDS)
    assert status() == "scheduled"


def test_a_draft_whose_default_template_is_unknown_is_refused(now: Clock) -> None:
    assert refused_status(create, draft=True, default_template={"template_id": "unknown"}) == 400
    create(draft=True)
    assert refused_status(update_draft, default_template={"template_id": "unknown"}) == 400


def test_a_change_of_a_draft_keeps_its_other_fields(now: Clock) -> None:
    create(draft=True)
    now.now_ms += 1000
    update_draft(test_mode="learning")
    draft = service.find_draft(SCOPE, "welcome")
    assert (draft.test_mode, draft.name, draft.version) == ("learning", "Welcome", 1)
    assert (draft.created_ms, draft.updated_ms) == (BEFORE, BEFORE + 1000)


ALLOWED = {
    "draft": {update_draft, schedule},
    "scheduled": {update, cancel},
    "running": {cancel},
    "completed": {update_draft, delete},
    "cancelled": {update_draft, delete},
}


@pytest.mark.parametrize("state", ALLOWED)
@pytest.mark.parametrize("call", [update, update_draft, schedule, cancel, delete])
def test_the_status_decides_which_changes_are_allowed(state: str, call: Any, now: Clock) -> None:
    reach(state, now)
    assert status() == state
    if call in ALLOWED[state]:
        call()
        return
    # A new version needs times of its own, so a plain update of a test that ended breaks a rule
    ended = state in ("completed", "cancelled")
    assert refused_status(call) == (400 if call is update and ended else 409)
    assert status() == state


def test_a_scheduled_test_is_changed_and_keeps_its_version(now: Clock) -> None:
    create()
    now.now_ms += 1000
    assert update(name="Other", **AGAIN).version == 1
    test = service.find(SCOPE, "welcome")
    assert (test.name, test.start_ms, test.variants[0].percent) == ("Other", 1_793_491_200_000, 40)
    assert test.updated_ms == BEFORE + 1000
    assert refused_status(update, variants=[]) == 400


def test_a_change_of_a_scheduled_test_renews_its_sample(now: Clock) -> None:
    sizes = [Share("t0", 2), Share("t1", 2)]
    create(
        audience_selection="sample_size",
        default_template={"template_id": "t0", "sample_size": 2},
        variants=[{"template_id": "t1", "sample_size": 2}],
    )
    assert service.find(SCOPE, "welcome").sample == 4
    update(default_template={"template_id": "t0", "sample_size": 1})
    test = service.find(SCOPE, "welcome")
    assert test.shares[1:] == tuple(sizes[1:])
    shares = [sample.take(test, f"m{number}", test.shares) for number in range(4)]
    assert [share.template_id if share else None for share in shares] == ["t0", "t1", "t1", None]


@pytest.mark.parametrize("state", ["completed", "cancelled"])
def test_a_test_that_ended_runs_again_as_a_new_version(state: str, now: Clock) -> None:
    reach(state, now)
    now.now_ms = AFTER
    assert update(metric="count_unique_confirmed_opened", **AGAIN).version == 2
    test = service.find(SCOPE, "welcome")
    assert (test.version, test.state, test.metric) == (
        2,
        "scheduled",
        "count_unique_confirmed_opened",
    )
    assert (test.created_ms, test.ended_ms, test.winning_template_id) == (AFTER, None, None)
    assert (test.variants[0].percent, test.counts) == (40, {})
    assert service.find(SCOPE, "welcome", 1).state == state
    assert [each.version for each in versions.in_scope(SCOPE)] == [2]


def test_a_new_version_starts_from_the_former_winner(now: Clock) -> None:
    create()
    engaged(service.find(SCOPE, "welcome"), "t1", 9, 9)
    engaged(service.find(SCOPE, "welcome"), "t0", 9, 0)
    now.now_ms = AFTER
    decide_due(AFTER, lambda _: None)
    assert refused_status(update, **AGAIN) == 400  # the winner is still a variant
    update(variants=[{"template_id": "t2", "percent": 40}], **AGAIN)
    new = service.find(SCOPE, "welcome")
    assert new.default_template == Share("t1", percent=60)
    assert service.find(SCOPE, "welcome", 1).counts["t1"] == Counts(9, 9, 9)


def test_the_default_template_may_be_named_for_a_new_version(now: Clock) -> None:
    reach("cancelled", now)
    update(default_template={"template_id": "t2", "percent": 60}, **AGAIN)
    assert service.find(SCOPE, "welcome").default_template.template_id == "t2"


def test_a_test_that_ended_becomes_a_draft_of_a_new_version(now: Clock) -> None:
    reach("cancelled", now)
    assert update_draft(default_template={"template_id": "t2"}).version == 2
    draft = service.find_draft(SCOPE, "welcome")
    assert (draft.default_template.template_id, draft.start_ms) == ("t2", None)
    assert draft.settled_template(clock.now_ms()) == "t2"


def test_a_deleted_draft_of_a_new_version_leaves_the_version_before(now: Clock) -> None:
    reach("cancelled", now)
    update_draft()
    service.delete_draft(SCOPE, "welcome")
    assert (status(), service.find(SCOPE, "welcome").version) == ("cancelled", 1)
    assert refused_status(service.delete_draft, SCOPE, "welcome") == 404


def test_a_deleted_draft_does_not_exist(now: Clock) -> None:
    create(draft=True)
    service.delete_draft(SCOPE, "welcome")
    assert refused_status(service.find, SCOPE, "welcome") == 404


def test_only_the_latest_version_is_updated(now: Clock) -> None:
    reach("cancelled", now)
    update(1, **AGAIN)
    assert refused_status(update, 1, **AGAIN) == 409
    assert update(2, name="Named").version == 2


def test_a_cancelled_test_keeps_its_counts(now: Clock) -> None:
    create()
    now.now_ms = DURING
    engaged(service.find(SCOPE, "welcome"), "t1", 3, 2)
    cancel()
    test = service.find(SCOPE, "welcome")
    assert (test.ended_ms, test.winning_template_id) == (DURING, None)
    assert test.counts["t1"] == Counts(3, 2, 2)


def test_a_test_is_deleted_with_all_versions(now: Clock) -> None:
    reach("cancelled", now)
    update(**AGAIN)
    cancel()
    delete()
    for version in (None, 1, 2):
        assert refused_status(service.find, SCOPE, "welcome", version) == 404


def test_an_old_version_may_be_deleted_alone(now: Clock) -> None:
    reach("cancelled", now)
    update(**AGAIN)
    delete(1)
    assert refused_status(service.find, SCOPE, "welcome", 1) == 404
    assert service.find(SCOPE, "welcome").version == 2
    cancel()
    assert refused_status(delete, 1) == 404
    assert refused_status(delete, 2) == 409
    delete()


def test_an_id_is_taken_even_if_the_first_version_was_deleted(now: Clock) -> None:
    reach("cancelled", now)
    update(**AGAIN)
    delete(1)
    assert refused_status(create) == 409
    assert service.find(SCOPE, "welcome").version == 2


def test_the_only_version_may_be_named_to_be_deleted(now: Clock) -> None:
    reach("cancelled", now)
    delete(1)
    assert refused_status(service.find, SCOPE, "welcome") == 404


def test_a_test_that_starts_while_it_is_changed_is_not_changed(
    now: Clock, monkeypatch: Any
) -> None:
    old = create(total_sample_size=3)
    check = service.check_templates

    def it_starts(test: AbTest) -> None:
        monkeypatch.setattr(service, "check_templates", check)
        check(test)
        now.now_ms = DURING
        assert sample.take(old, "m1", old.shares)

    monkeypatch.setattr(service, "check_templates", it_starts)
    assert refused_status(update, total_sample_size=5) == 409
    assert again(old).sample == 3
    shares = [sample.take(old, f"n{number}", old.shares) for number in range(3)]
    assert [bool(each) for each in shares] == [True, True, False]


def test_a_change_is_repeated_on_the_result_of_another_change(now: Clock, monkeypatch: Any) -> None:
    create()
    check = service.check_templates

    def another_comes_between(test: AbTest) -> None:
        monkeypatch.setattr(service, "check_templates", check)
        update(metric="count_unique_confirmed_opened")
        check(test)

    monkeypatch.setattr(service, "check_templates", another_comes_between)
    update(name="Other")
    test = service.find(SCOPE, "welcome")
    assert (test.name, test.metric) == ("Other", "count_unique_confirmed_opened")


def test_a_change_of_a_test_that_was_cancelled_meanwhile_makes_a_new_version(
    now: Clock, monkeypatch: Any
) -> None:
    create()
    check = service.check_templates

    def cancelled_meanwhile(test: AbTest) -> None:
        monkeypatch.setattr(service, "check_templates", check)
        cancel()
        check(test)

    monkeypatch.setattr(service, "check_templates", cancelled_meanwhile)
    assert update(**AGAIN).version == 2
    assert service.find(SCOPE, "welcome", 1).state == "cancelled"


def test_a_scope_reaches_its_own_tests_only(now: Clock) -> None:
    create()
    for scope in (Scope(1, 7), Scope(2, 0), Scope(2, None)):
        assert refused_status(service.find, scope, "welcome") == 404
        assert refused_status(service.cancel, scope, "welcome") == 404
    assert service.find(Scope(1, None), "welcome").id == "welcome"


def test_the_event_of_a_cancellation_is_due_at_once(now: Clock) -> None:
    create()
    cancel()
    assert [entry.at_ms for entry in due.find(versions.CONCERN, BEFORE)] == [BEFORE]
