"""The life of a test: each request that changes one, from the check to the store.

========== ================ ============== =================== =========================
status     ``PUT /{id}``    ``PUT draft``  ``POST schedule``   ``POST cancel``
========== ================ ============== =================== =========================
draft      409              changes it     becomes scheduled   409
scheduled  changes it       409            409                 becomes cancelled
running    409              409            409                 becomes cancelled
completed  a new version    a new draft    409                 409
cancelled  a new version    a new draft    409                 409
========== ================ ============== =================== =========================

A new version keeps what the request does not name, but for the times and the sample; its default
template is the one that the old version ended with. Who changes a test does so from what was read:
of two requests at once one is made again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from chalicelib.ab_tests import decisions
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
from chalicelib.ab_tests.request import AbTestBody, changed
from chalicelib.ab_tests.rules import check_runnable
from chalicelib.ab_tests.store import sample, versions
from chalicelib.ab_tests.tested_templates import check_default_template, check_templates
from chalicelib.core import clock, due
from chalicelib.core.errors import NotFound, Unavailable, conflict
from chalicelib.core.scope import Scope

Result = TypeVar("Result")

_ENDED = (COMPLETED, CANCELLED)
_ATTEMPTS = 10


def create(scope: Scope, body: AbTestBody, name: str, default: Share, *, draft: bool) -> AbTest:
    """Store a new test, as a draft or scheduled; raises 400, or 409 if its id is taken."""
    now = clock.now_ms()
    plain = AbTest(
        account_id=scope.account_id,
        subaccount_id=scope.owner,
        id=body.id or id_from_name(name),
        version=1,
        name=name,
        state=DRAFT,
        default_template=default,
        created_ms=now,
        updated_ms=now,
    )
    new = changed(plain, body)
    new = _checked_draft(new) if draft else _scheduled(new, now)
    if not versions.create(new, [] if draft else sample.begin(new)):
        raise conflict(f"A/B test '{new.id}' already exists")
    return new


def find(scope: Scope, test_id: str, version: int | None = None) -> AbTest:
    """Return the latest version of a test in scope, or the one that is asked for; raises 404."""
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

    def attempt(old: AbTest, now: int) -> AbTest | None:
        _check_latest(old, version)
        status = old.status(now)
        if status in (DRAFT, RUNNING):
            raise conflict(f"a {status} A/B test cannot be updated")
        if status in _ENDED:
            new = _scheduled(changed(_next_version(old, now), body), now)
            return new if versions.supersede(old, new, sample.begin(new)) else None
        new = _scheduled(changed(old, body), now)
        return new if versions.update(old, new, sample.begin(new, again=True)) else None

    return _repeated(scope, test_id, attempt)


def update_draft(scope: Scope, test_id: str, body: AbTestBody) -> AbTest:
    """Change a draft, or make one of a test that ended; raises 400, 404, 409."""

    def attempt(old: AbTest, now: int) -> AbTest | None:
        if old.state == DRAFT:
            new = _checked_draft(replace(changed(old, body), updated_ms=now))
            return new if versions.update(old, new) else None
        if old.state in _ENDED:
            new = _checked_draft(changed(_next_version(old, now), body))
            return new if versions.supersede(old, new) else None
        raise conflict(f"a {old.status(now)} A/B test is no draft")

    return _repeated(scope, test_id, attempt)


def schedule(scope: Scope, test_id: str, body: AbTestBody) -> AbTest:
    """Schedule a draft, with the changes that the body makes to it; raises 400, 404, 409."""

    def attempt(old: AbTest, now: int) -> AbTest | None:
        if old.state != DRAFT:
            raise conflict(f"a {old.status(now)} A/B test is no draft")
        new = _scheduled(changed(old, body), now)
        return new if versions.update(old, new, sample.begin(new)) else None

    return _repeated(scope, test_id, attempt)


def cancel(scope: Scope, test_id: str) -> AbTest:
    """Cancel a scheduled or running test; raises 404, 409."""

    def attempt(old: AbTest, now: int) -> AbTest | None:
        if old.state != SCHEDULED:
            raise conflict(f"a {old.status(now)} A/B test cannot be cancelled")
        new, telling = decisions.ended(old, CANCELLED, None, now)
        return new if versions.update(old, new, [due.addition(telling)]) else None

    return _repeated(scope, test_id, attempt)


def delete(scope: Scope, test_id: str, version: int | None) -> None:
    """Delete a test that ended with all its versions, or one old version; raises 404, 409."""

    def attempt(latest: AbTest, now: int) -> bool:
        if version is not None and version != latest.version:
            versions.delete_version(find(scope, test_id, version))
            return True
        _check_ended(latest, now)
        if version is not None and latest.version > 1:
            raise conflict("the latest version can only be deleted with the whole A/B test")
        return versions.delete(latest)

    _repeated(scope, test_id, attempt)


def delete_draft(scope: Scope, test_id: str) -> None:
    """Delete a draft; the test is again as it was before it. Raises 404."""

    def attempt(old: AbTest, now: int) -> bool:
        if old.state != DRAFT:
            raise NotFound
        return versions.withdraw(old)

    _repeated(scope, test_id, attempt)


def _repeated(
    scope: Scope, test_id: str, attempt: Callable[[AbTest, int], Result | None]
) -> Result:
    """Let ``attempt`` change the latest version until nobody comes between."""
    for _ in range(_ATTEMPTS):
        if result := attempt(find(scope, test_id), clock.now_ms()):
            return result
    raise Unavailable


def _check_latest(latest: AbTest, version: int | None) -> None:
    if version not in (None, latest.version):
        raise conflict(f"only the latest version ({latest.version}) can be updated")


def _check_ended(test: AbTest, now: int) -> None:
    if test.state not in _ENDED:
        raise conflict(f"a {test.status(now)} A/B test cannot be deleted")


def _scheduled(test: AbTest, now: int) -> AbTest:
    check_runnable(test, now)
    check_templates(test)
    new = replace(test, state=SCHEDULED, updated_ms=now)
    return replace(new, due_ms=new.next_look_ms(now))


def _checked_draft(test: AbTest) -> AbTest:
    check_default_template(test)
    return test


def _next_version(old: AbTest, now: int) -> AbTest:
    """Return the draft that follows on a version that ended."""
    kept = old.settled_template(now)
    return replace(
        old,
        version=old.version + 1,
        state=DRAFT,
        default_template=replace(old.default_template, template_id=kept),
        created_ms=now,
        updated_ms=now,
        start_ms=None,
        end_ms=None,
        sampled_ms=None,
        ended_ms=None,
        winning_template_id=None,
        counts={},
    )
