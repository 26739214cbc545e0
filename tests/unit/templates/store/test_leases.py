from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import Table, TransactionFailed
from chalicelib.core.errors import ApiError
from chalicelib.core.scope import Scope
from chalicelib.templates.model import Edit, Template, new_template
from chalicelib.templates.store import leases, records
from tests.unit.templates.api import CONTENT, Api

PRIMARY = Scope(1, 0)
NOW = 1_767_225_600.0


@pytest.fixture
def template(cloud: None) -> Template:
    assert records.create(new_template(PRIMARY, "welcome", Edit(published=True)), CONTENT)
    present = records.get(1, None, "welcome")
    assert present is not None
    return present


def in_an_hour() -> float:
    return clock.now() + 3600


def conflict() -> Any:
    return pytest.raises(ApiError, match="Template is in use by msg generation")


@pytest.mark.spec("3-t5")
@pytest.mark.spec("4.2-t5")
def test_a_template_in_use_is_not_deleted(template: Template) -> None:
    assert leases.acquire(template, "t1", in_an_hour()) == template
    with conflict() as error:
        leases.delete(PRIMARY, "welcome")
    assert (error.value.status, error.value.code) == (409, "1602")
    assert records.get_content(PRIMARY, "welcome", draft=False).content == CONTENT


@pytest.mark.spec("3-t5")
def test_a_template_can_be_deleted_when_the_last_lease_is_released(template: Template) -> None:
    leases.acquire(template, "t1", in_an_hour())
    leases.acquire(template, "t2", in_an_hour())
    leases.release(1, None, "welcome", "t1")
    leases.release(1, None, "welcome", "t1")
    with conflict():
        leases.delete(PRIMARY, "welcome")
    leases.release(1, None, "welcome", "t2")
    assert leases.delete(PRIMARY, "welcome")
    assert records.get(1, None, "welcome") is None


def test_a_lease_on_one_owners_template_does_not_protect_anothers(template: Template) -> None:
    records.create(new_template(Scope(1, 7), "welcome", Edit()), CONTENT)
    leases.acquire(template, "t1", in_an_hour())
    assert leases.delete(Scope(1, 7), "welcome")
    assert not leases.delete(Scope(1, 7), "welcome")
    assert records.get(1, None, "welcome") is not None


def test_an_expired_lease_does_not_protect_the_template(template: Template) -> None:
    with clock.use(lambda: NOW):
        leases.acquire(template, "crashed", NOW + 60)
    with clock.use(lambda: NOW + 59), conflict():
        leases.delete(PRIMARY, "welcome")
    with clock.use(lambda: NOW + 61):
        assert leases.delete(PRIMARY, "welcome")


def test_acquiring_a_lease_again_makes_it_longer(template: Template) -> None:
    with clock.use(lambda: NOW):
        leases.acquire(template, "t1", NOW + 60)
        leases.acquire(template, "t1", NOW + 600)
    with clock.use(lambda: NOW + 61), conflict():
        leases.delete(PRIMARY, "welcome")


def test_a_lease_after_many_expired_ones_counts(template: Template) -> None:
    with clock.use(lambda: NOW):
        for n in range(60):
            leases.acquire(template, f"t{n:03}", NOW + (600 if n == 59 else 1))
    with clock.use(lambda: NOW + 2), conflict():
        leases.delete(PRIMARY, "welcome")


def test_a_lease_of_a_subaccount_protects_the_shared_template(template: Template) -> None:
    Api().put("/templates/welcome", {"shared_with_subaccounts": True})
    present = records.find(Scope(1, 7), "welcome")
    assert present is not None
    leases.acquire(present, "t1", in_an_hour())
    with conflict():
        leases.delete(PRIMARY, "welcome")
    leases.release(1, present.subaccount_id, present.id, "t1")
    assert leases.delete(PRIMARY, "welcome")


def test_the_table_drops_a_lease_after_its_end(template: Template) -> None:
    leases.acquire(template, "t1", 1000.5)
    (lease,) = Table("config").query_all(
        "#pk = :pk AND begins_with(#sk, :use)",
        {"pk": records.partition(1, "welcome"), "use": "use#"},
    )
    assert lease["expires"] >= 1000.5


def test_a_template_deleted_since_it_was_read_cannot_be_leased(template: Template) -> None:
    leases.delete(PRIMARY, "welcome")
    with pytest.raises(ApiError) as error:
        leases.acquire(template, "t1", in_an_hour())
    assert (error.value.status, error.value.code) == (422, "1603")
    rest = Table("config").query_all("#pk = :pk", {"pk": records.partition(1, "welcome")})
    assert list(rest) == []


def test_after_a_refused_deletion_the_template_is_as_before(template: Template) -> None:
    leases.acquire(template, "t1", in_an_hour())
    with conflict():
        leases.delete(PRIMARY, "welcome")
    assert leases.acquire(template, "t2", in_an_hour()) == template
    leases.release(1, None, "welcome", "t1")
    leases.release(1, None, "welcome", "t2")
    assert leases.delete(PRIMARY, "welcome")


def when(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], Any]) -> None:
    """Call ``act`` once, right after the step ``name`` of a deletion."""
    step, acts = getattr(leases, name), iter([act])

    def then_act(*args: Any) -> Any:
        step_result = step(*args)
        for each in acts:
            each()
        return step_result

    monkeypatch.setattr(leases, name, then_act)


def test_a_lease_acquired_while_a_deletion_looks_for_leases_waits_for_the_outcome(
    template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both orders of a race: the transmission comes second, and sees the deletion."""
    waited: list[str] = []
    pauses = iter([lambda: None, lambda: finish_deletion()])

    def finish_deletion() -> None:
        dynamo.transact([dynamo.delete(Table("config"), *records.head(template))])

    def pause(seconds: float) -> None:
        waited.append("waited")
        next(pauses)()

    monkeypatch.setattr(leases, "time", SimpleNamespace(sleep=pause))
    leases._announce(template, "token")
    with pytest.raises(ApiError, match="does not exist"):
        leases.acquire(template, "t1", in_an_hour())
    assert len(waited) == 2


def test_a_lease_is_acquired_when_the_deletion_was_refused_meanwhile(
    template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    withdrawing = SimpleNamespace(sleep=lambda _: leases._withdraw(template, "token"))
    monkeypatch.setattr(leases, "time", withdrawing)
    leases._announce(template, "token")
    assert leases.acquire(template, "t1", in_an_hour()) == template


def test_a_lease_written_before_leases_are_looked_for_refuses_the_deletion(
    template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transmission has written its lease, and has not read the record yet."""
    lease = leases._lease(template, "t1", in_an_hour())
    when(monkeypatch, "_announce", lambda: Table("config").put(lease))
    with conflict():
        leases.delete(PRIMARY, "welcome")


def test_the_announcement_of_a_deletion_that_crashed_is_withdrawn(template: Template) -> None:
    with clock.use(lambda: NOW):
        leases._announce(template, "crashed")
    with clock.use(lambda: NOW + 6):
        leases.acquire(template, "t1", NOW + 60)
        with pytest.raises(TransactionFailed):
            leases._remove(template, "crashed")
    assert records.get(1, None, "welcome") is not None


def test_an_edit_during_a_deletion_is_deleted_with_its_content(
    template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = Api()
    edit = {"content": CONTENT | {"subject": "late"}}
    when(monkeypatch, "_current_lease", lambda: api.put("/templates/welcome", edit))
    assert leases.delete(PRIMARY, "welcome")
    rest = Table("config").query_all("#pk = :pk", {"pk": records.partition(1, "welcome")})
    assert list(rest) == []


def test_of_two_deletions_at_once_one_finds_nothing(
    template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes: list[bool] = []
    when(monkeypatch, "_current_lease", lambda: outcomes.append(leases.delete(PRIMARY, "welcome")))
    outcomes.append(leases.delete(PRIMARY, "welcome"))
    assert outcomes == [True, False]


@pytest.mark.spec("3-t5")
def test_the_api_refuses_to_delete_a_template_in_use(template: Template) -> None:
    leases.acquire(template, "t1", in_an_hour())
    response = Api().delete("/templates/welcome")
    assert response.status == 409
    assert response.errors == [
        {
            "message": "resource conflict",
            "description": "Template is in use by msg generation",
            "code": "1602",
        }
    ]


# --- last use


@pytest.mark.spec("2.3-t9")
def test_the_last_use_is_shown_once_there_was_one(template: Template) -> None:
    api = Api()
    assert "last_use" not in api.get("/templates/welcome").results
    with clock.use(lambda: NOW):
        leases.record_use(template)
    for draft in ("true", "false"):
        view = api.get("/templates/welcome", draft=draft).results
        assert view["last_use"] == "2026-01-01T00:00:00+00:00"
    assert api.get("/templates").results[0]["last_use"] == "2026-01-01T00:00:00+00:00"
    api.put("/templates/welcome", {"name": "new"})
    assert api.get("/templates/welcome").results["last_use"] == "2026-01-01T00:00:00+00:00"


@pytest.mark.spec("2.3-t9")
def test_many_uses_in_a_minute_cost_one_write(
    template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[float] = []
    update = Table.update

    def counted(self: Table, *args: Any, **kwargs: Any) -> Any:
        writes.append(clock.now())
        return update(self, *args, **kwargs)

    monkeypatch.setattr(Table, "update", counted)
    for second in range(130):
        with clock.use(lambda: NOW + second):  # noqa: B023
            leases.record_use(records.get_content(PRIMARY, "welcome", draft=False).template)
    assert writes == [NOW, NOW + 60, NOW + 120]


def test_the_use_of_a_deleted_template_is_not_recorded(template: Template) -> None:
    leases.delete(PRIMARY, "welcome")
    leases.record_use(template)
    assert records.get(1, None, "welcome") is None


def test_a_later_use_recorded_by_another_process_stays(template: Template) -> None:
    with clock.use(lambda: NOW + 5):
        leases.record_use(template)
    with clock.use(lambda: NOW):
        leases.record_use(template)
    present = records.get(1, None, "welcome")
    assert present is not None
    assert present.last_use == NOW + 5
