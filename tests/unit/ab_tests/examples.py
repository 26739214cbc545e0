"""Make A/B tests, their templates and requests for tests."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from chalicelib.ab_tests.model import HOUR_MS, AbTest, Share
from chalicelib.ab_tests.routes import GRANT
from chalicelib.ab_tests.store import counts, sample, versions
from chalicelib.ab_tests.store.counts import Engagement, TestVersion
from chalicelib.core.http import Request
from chalicelib.core.request import Caller
from chalicelib.core.scope import Scope
from chalicelib.templates.routes import create_template

START = 1_790_000_000_000
SECOND = 1000
DAY = 24 * HOUR_MS


def by_size(*sizes: int, **fields: Any) -> AbTest:
    """Return a scheduled test of templates ``t0`` (the default), ``t1``, ... with these sizes."""
    return _test([Share(f"t{i}", sample_size=size) for i, size in enumerate(sizes)], fields)


def by_percent(*percents: float, **fields: Any) -> AbTest:
    """Return a scheduled test of templates ``t0`` (the default), ``t1``, ... with these shares."""
    shares = [Share(f"t{i}", percent=percent) for i, percent in enumerate(percents)]
    return _test(shares, {"audience_selection": "percent"} | fields)


def _test(shares: list[Share], fields: dict[str, Any]) -> AbTest:
    defaults: dict[str, Any] = {
        "account_id": 1,
        "subaccount_id": None,
        "id": "welcome",
        "version": 1,
        "name": "Welcome",
        "state": "scheduled",
        "default_template": shares[0],
        "variants": tuple(shares[1:]),
        "created_ms": START - DAY,
        "updated_ms": START - DAY,
        "metric": "count_unique_clicked",
        "audience_selection": "sample_size",
        "test_mode": "bayesian",
        "start_ms": START,
        "end_ms": START + DAY,
        "engagement_timeout": 2,
    }
    return AbTest(**(defaults | fields))


def stored(test: AbTest) -> AbTest:
    """Store a test as if it had been scheduled; return the stored test."""
    if test.state == "scheduled":
        test = replace(test, due_ms=test.next_check_ms(0))
    assert versions.create(test, sample.begin(test) if test.state == "scheduled" else [])
    return again(test)


def again(test: AbTest) -> AbTest:
    """Read a test again from the store."""
    present = versions.version(test.account_id, test.id, test.version)
    assert present is not None
    return present


def engaged(test: AbTest, template_id: str, accepted: int, clicked: int) -> None:
    """Count messages of a template as accepted, and some of them as clicked and opened."""
    names = [f"{template_id}-{number}" for number in range(accepted)]
    engagements = [Engagement(template_id, "accepted", name) for name in names]
    for kind in ("clicked", "opened"):
        engagements += [Engagement(template_id, kind, name) for name in names[:clicked]]
    counts.add(TestVersion(test.account_id, test.id, test.version), engagements)


def request(body: Any = None, *, part: int | None = 0, **query: str) -> Request:
    """Return a request of account 1, or of a part of it."""
    return Request(
        raw_body=b"" if body is None else json.dumps(body).encode(),
        query=query,
        headers={"content-type": "application/json"},
        authenticated=Caller(Scope(1, part), "key", frozenset({GRANT})),
    )


def template(template_id: str, *, published: bool = True, part: int = 0, **options: bool) -> None:
    """Create a template."""
    content = {"from": "a@example.test", "subject": "Hi", "text": "Hello"}
    body = {"id": template_id, "content": content, "published": published, "options": options}
    create_template(request(body, part=part))
