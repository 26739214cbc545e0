"""Show an A/B test: over HTTP, and in the event of its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from chalicelib.ab_tests.model import (
    BAYESIAN,
    PERCENT,
    SAMPLE_SIZE,
    SCHEDULED,
    AbTest,
    Counts,
    Share,
)
from chalicelib.ab_tests.store import counts
from chalicelib.core import clock, ids
from chalicelib.core.json_types import Json
from chalicelib.core.message_event import Event

_PLACES = 6  # of an engagement rate


def ab_test_views(tests: Sequence[AbTest], now_ms: int) -> Iterator[Json]:
    """Yield the tests as the API shows them, with their present counts or those at the end."""
    current = iter(counts.of_tests([test for test in tests if test.state == SCHEDULED]))
    for test in tests:
        yield _ab_test_view(test, next(current) if test.state == SCHEDULED else test.counts, now_ms)


def event_view(test: AbTest) -> Event:
    """Return the ``ab_test_completed`` or ``ab_test_cancelled`` event of a version that ended.

    Its id derives from the version, so an event that is emitted again is the same event.
    """
    assert test.ended_ms is not None
    kind = f"ab_test_{test.state}"
    about: Json = {
        "id": test.id,
        "name": test.name,
        "version": test.version,
        "test_mode": test.test_mode,
        "engagement_metric": test.metric,
        "default_template": _result(test, test.default_template, test.counts),
        "variants": [_result(test, share, test.counts) for share in test.variants],
    }
    if test.winning_template_id is not None:
        about["winning_template_id"] = test.winning_template_id
    subject = f"ab_test/{test.account_id}/{test.id}/{test.version}/{test.created_ms}"
    event: Event = {
        "type": kind,
        "timestamp": test.ended_ms,
        "event_id": ids.event_id(subject, kind),
        "customer_id": str(test.account_id),
        "ab_test": about,
    }
    if test.subaccount_id:
        event["subaccount_id"] = str(test.subaccount_id)
    return event


def _ab_test_view(test: AbTest, test_counts: Mapping[str, Counts], now_ms: int) -> Json:
    bayesian = test.test_mode == BAYESIAN
    fields: Json = {
        "id": test.id,
        "name": test.name,
        "version": test.version,
        "status": test.status(now_ms),
        "winning_template_id": test.winning_template_id,
        "metric": test.metric,
        "audience_selection": test.audience_selection,
        "test_mode": test.test_mode,
        "start_time": _time(test.start_ms),
        "end_time": _time(test.end_ms if test.start_ms is None else test.ends_ms),
        "total_sample_size": test.sample,
        "confidence_level": test.confidence_level if bayesian else None,
        "engagement_timeout": test.engagement_timeout if test.test_mode else None,
        "default_template": _share_view(test, test.default_template, test_counts),
        "variants": [_share_view(test, share, test_counts) for share in test.variants] or None,
        "created_at": _time(test.created_ms),
        "updated_at": _time(test.updated_ms),
        "subaccount_id": test.subaccount_id,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _share_view(test: AbTest, share: Share, test_counts: Mapping[str, Counts]) -> Json:
    fields: Json = {"template_id": share.template_id}
    if share.sample_size is not None and test.audience_selection != PERCENT:
        fields["sample_size"] = share.sample_size
    if share.percent is not None and test.audience_selection != SAMPLE_SIZE:
        rounded = int(share.percent)
        fields["percent"] = rounded if rounded == share.percent else share.percent
    return fields | (_counts_view(test, share, test_counts) if test_counts else {})


def _result(test: AbTest, share: Share, test_counts: Mapping[str, Counts]) -> Json:
    return {"template_id": share.template_id} | _counts_view(test, share, test_counts)


def _counts_view(test: AbTest, share: Share, test_counts: Mapping[str, Counts]) -> Json:
    observation = test_counts.get(share.template_id, Counts()).observation(test.metric)
    # A message may be counted as returned before it is counted as accepted
    accepted = max(0, observation.accepted)
    rate = observation.engaged / accepted if accepted else 0.0
    return {
        str(test.metric): observation.engaged,
        "count_accepted": accepted,
        "engagement_rate": round(min(rate, 1.0), _PLACES),
    }


def _time(time_ms: int | None) -> str | None:
    return None if time_ms is None else clock.iso_offset(time_ms / 1000)
