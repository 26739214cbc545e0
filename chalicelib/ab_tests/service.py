"""Create, change, schedule, cancel and delete A/B tests, as their status allows.

========== ================ ============== =================== =========================
status     ``PUT /{id}``    ``PUT draft``  ``POST schedule``   ``POST cancel``
========== ================ ============== =================== =========================
draft      409              changes it     becomes scheduled   409
scheduled  changes it       409            409                 becomes cancelled
running    409              409            409                 becomes cancelled
completed  a new version    a new draft    409                 409
cancelled  a new version    a new draft    409                 409
========== ================ ============== =================== =========================

A new version keeps the fields that the request does not name, except the times and the sample; its
default template is the one that the old version ended with. Of two requests that change a test at
the same time, one is repeated on the result of the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from chalicelib.ab_tests import decisions, leases
from chalicelib.ab_tests.model import (
    CANCELLED,
    COMPLETED,
    DRAFT,
    RUNNING,
    SCHEDULED,
    AbTest,
    Share,
    id_from_name,
)
from chalicelib.ab_tests.request import AbTestBody, apply_changes
from chalicelib.ab_tests.rules import check_default_template, check_runnable, check_templates
from chalicelib.ab_tests.store import sample, versions
from chalicelib.core import clock, dynamo, references
from chalicelib.core.dynamo import Write
from chalicelib.core.errors import NotFound, conflict
from chalicelib.core.scope import Scope

Result = TypeVar("Result")

_ENDED = (COMPLETED, CANCELLED)


def create(scope: Scope, body: AbTestBody, name: str, default: Share, *, draft: bool) -> AbTest:
    """Store a new test, as a draft or scheduled; raises 400, or 409 if its id is taken."""
    now_ms = clock.now_ms()
    plain = AbTest(
        account_id=scope.account_id,
        subaccount_id=scope.owner,
        id=body.id or id_from_name(name),
        version=1,
        name=name,
        state=DRAFT,
        default_template=default,
        created_ms=now_ms,
        updated_ms=now_ms,
    )
    new = apply_changes(plain, body)

    def attempt() -> AbTest:
        test = _checked_draft(new) if draft else _scheduled(new, now_ms)
        if not versions.create(test, _beginning(None, test)):
            raise conflict(f"A/B test '{test.id}' already exists")
        return test

    return dynamo.retry_conflicts(attempt)


def find(scope: Scope, test_id: str, version: int | None = None) -> AbTest:
    """Return the latest version of a test in scope, or the one named; raises 404."""
    if version is None:
        test = versions.latest(scope.account_id, test_id)
    else:
        test = versions.version(scope.account_id, test_id, version)
    if test is None or not scope.covers(test.subaccount_id):
        raise NotFound
    return test


def find_draft(scope: Scope, test_id: str) -> AbTest:
    """Return a test that is a draft; raises 404."""
    test = find(scope, test_id)
    if test.state != DRAFT:
        raise NotFound
    return test


def update(scope: Scope, test_id: str, body: AbTestBody, version: int | None) -> AbTest:
    """Change a scheduled test, or schedule a new version of one that ended; raises 400, 404, 409.

    Only the latest version can be named.
    """

    def attempt(old: AbTest, now_ms: int) -> AbTest:
        _check_latest(old, version)
        status = old.status(now_ms)
        if status in (DRAFT, RUNNING):
            raise conflict(f"a {status} A/B test cannot be updated")
        if status in _ENDED:
            new = _scheduled(apply_changes(_next_version(old, now_ms), body), now_ms)
            versions.supersede(old, new, _beginning(old, new))
            return new
        new = _scheduled(apply_changes(old, body), now_ms)
        versions.update(old, new, _beginning(old, new))
        return new

    return _change_latest(scope, test_id, attempt)


def update_draft(scope: Scope, test_id: str, body: AbTestBody) -> AbTest:
    """Change a draft, or make one of a test that ended; raises 400, 404, 409."""

    def attempt(old: AbTest, now_ms: int) -> AbTest:
        if old.state == DRAFT:
            new = _checked_draft(replace(apply_changes(old, body), updated_ms=now_ms))
            versions.update(old, new)
            return new
        if old.state in _ENDED:
            new = _checked_draft(apply_changes(_next_version(old, now_ms), body))
            versions.supersede(old, new)
            return new
        raise conflict(f"a {old.status(now_ms)} A/B test is no draft")

    return _change_latest(scope, test_id, attempt)


def schedule(scope: Scope, test_id: str, body: AbTestBody) -> AbTest:
    """Schedule a draft, with the changes that the body makes to it; raises 400, 404, 409."""

    def attempt(old: AbTest, now_ms: int) -> AbTest:
        if old.state != DRAFT:
            raise conflict(f"a {old.status(now_ms)} A/B test is no draft")
        new = _scheduled(apply_changes(old, body), now_ms)
        versions.update(old, new, _beginning(old, new))
        return new

    return _change_latest(scope, test_id, attempt)


def cancel(scope: Scope, test_id: str) -> AbTest:
    """Cancel a scheduled or running test; raises 404, 409."""

    def attempt(old: AbTest, now_ms: int) -> AbTest:
        if old.state != SCHEDULED:
            raise conflict(f"a {old.status(now_ms)} A/B test cannot be cancelled")
        return decisions.end_version(old, CANCELLED, None, now_ms)

    return _change_latest(scope, test_id, attempt)


def delete(scope: Scope, test_id: str, version: int | None) -> None:
    """Delete a test that ended with all its versions, or one old version.

    Raises 404; 409 for a test that has not ended, or that scheduled transmissions need.
    """

    def attempt(latest: AbTest, now_ms: int) -> None:
        if version is not None and version != latest.version:
            versions.delete_version(find(scope, test_id, version))
            return
        _check_ended(latest, now_ms)
        if version is not None and latest.version > 1:
            raise conflict("the latest version can only be deleted with the whole A/B test")
        references.check_unused(references.AB_TEST, latest.account_id, latest.id)
        versions.delete(latest)

    _change_latest(scope, test_id, attempt)


def delete_draft(scope: Scope, test_id: str) -> None:
    """Delete a draft; the test is again as it was before it. Raises 404."""

    def attempt(old: AbTest, now_ms: int) -> None:
        if old.state != DRAFT:
            raise NotFound
        versions.withdraw(old)

    _change_latest(scope, test_id, attempt)


def _change_latest(scope: Scope, test_id: str, attempt: Callable[[AbTest, int], Result]) -> Result:
    """Let ``attempt`` change the latest version, again from its start after a conflict."""
    return dynamo.retry_conflicts(lambda: attempt(find(scope, test_id), clock.now_ms()))


def _check_latest(latest: AbTest, version: int | None) -> None:
    if version not in (None, latest.version):
        raise conflict(f"only the latest version ({latest.version}) can be updated")


def _check_ended(test: AbTest, now_ms: int) -> None:
    if test.state not in _ENDED:
        raise conflict(f"a {test.status(now_ms)} A/B test cannot be deleted")


def _scheduled(test: AbTest, now_ms: int) -> AbTest:
    check_runnable(test, now_ms)
    check_templates(test)
    new = replace(test, state=SCHEDULED, updated_ms=now_ms)
    return replace(new, due_ms=new.next_check_ms(now_ms))


def _beginning(old: AbTest | None, new: AbTest) -> list[Write]:
    """Return the further actions of the transaction that replaces ``old`` by ``new``."""
    if new.state == DRAFT:
        return []
    again = old is not None and old.version == new.version and old.state == SCHEDULED
    return [*sample.begin(new, again=again), *leases.changes(old, new)]


def _checked_draft(test: AbTest) -> AbTest:
    check_default_template(test)
    return test


def _next_version(old: AbTest, now_ms: int) -> AbTest:
    """Return the draft that follows a version that ended."""
    template_id = old.settled_template(now_ms)
    return replace(
        old,
        version=old.version + 1,
        state=DRAFT,
        default_template=replace(old.default_template, template_id=template_id),
        created_ms=now_ms,
        updated_ms=now_ms,
        start_ms=None,
        end_ms=None,
        sampled_ms=None,
        ended_ms=None,
        winning_template_id=None,
        counts={},
    )
