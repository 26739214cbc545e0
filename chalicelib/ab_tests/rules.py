"""Check that a test may run: complete, consistent, in time, and with published templates."""

from __future__ import annotations

from collections.abc import Iterator

from chalicelib.ab_tests.model import (
    BAYESIAN,
    CLICKED,
    HOUR_MS,
    LONGEST_MS,
    MOST_VARIANTS,
    SAMPLE_SIZE,
    AbTest,
)
from chalicelib.ab_tests.request import refusal
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.templates.store import records as templates

_LONGEST_TIMEOUT = LONGEST_MS // HOUR_MS - 1
#: required field of the record → its name in the body
_REQUIRED = {
    "metric": "metric",
    "audience_selection": "audience_selection",
    "test_mode": "test_mode",
    "start_ms": "start_time",
    "variants": "variants",
}
_ROUNDING = 1e-6


def check_runnable(test: AbTest, now_ms: int) -> None:
    """Raise 400 with every rule that the test breaks."""
    missing = [field for name, field in _REQUIRED.items() if not getattr(test, name)]
    if missing:
        raise refusal(*(f"{name} is a required field" for name in missing))
    faults = [*_template_faults(test), *_share_faults(test), *_option_faults(test)]
    faults += _time_faults(test, now_ms)
    if faults:
        raise refusal(*faults)


def check_templates(test: AbTest) -> None:
    """Raise 400 unless every template is published and keeps the tracking that the test needs."""
    tracking = "click_tracking" if test.metric == CLICKED else "open_tracking"
    ids = [share.template_id for share in test.shares]
    faults = [fault for each in ids if (fault := _readiness_fault(test, each, tracking))]
    if faults:
        raise refusal(*faults)


def check_default_template(test: AbTest) -> None:
    """Raise 400 unless the default template, which even a draft sends, is published."""
    if fault := _readiness_fault(test, test.default_template.template_id, None):
        raise refusal(fault)


def _readiness_fault(test: AbTest, template_id: str, tracking: str | None) -> str | None:
    template = templates.find(Scope(test.account_id, test.subaccount_id or PRIMARY), template_id)
    if template is None:
        return f"template '{template_id[:64]}' does not exist"
    if template.published is None:
        return f"template '{template_id}' has no published version"
    if tracking and template.published.options.get(tracking) is False:
        return f"template '{template_id}' has {tracking} turned off"
    return None


def _template_faults(test: AbTest) -> Iterator[str]:
    if len(test.variants) > MOST_VARIANTS:
        yield f"variants may not be more than {MOST_VARIANTS}"
    if len({share.template_id for share in test.shares}) < len(test.shares):
        yield "each template may be used only once in a test"


def _share_faults(test: AbTest) -> Iterator[str]:
    if test.total_sample_size is not None and test.total_sample_size < 1:
        yield "total_sample_size must be at least 1"
    if test.audience_selection == SAMPLE_SIZE:
        sizes = [share.sample_size or 0 for share in test.shares]
        if min(sizes) < 1:
            yield "every template needs a sample_size of at least 1"
        if sum(sizes) != test.sample:
            yield f"the sample sizes add up to {sum(sizes)}, not to the total_sample_size"
        return
    percents = [share.percent or 0.0 for share in test.shares]
    if min(percents) <= 0:
        yield "every template needs a percent above 0"
    if abs(sum(percents) - 100) > _ROUNDING:
        yield f"the percents add up to {sum(percents):g}, not to 100"


def _option_faults(test: AbTest) -> Iterator[str]:
    if test.test_mode == BAYESIAN and not 0 < test.confidence_level < 1:
        yield "confidence_level must be above 0 and below 1"
    if not 0 <= test.engagement_timeout <= _LONGEST_TIMEOUT:
        yield f"engagement_timeout must be from 0 to {_LONGEST_TIMEOUT} hours"


def _time_faults(test: AbTest, now_ms: int) -> Iterator[str]:
    start, end = test.start_ms or 0, test.ends_ms
    if end <= start:
        yield "end_time must be after start_time"
    elif end <= now_ms:
        yield "end_time must be in the future"
    if end + test.engagement_timeout * HOUR_MS > start + LONGEST_MS:
        yield "a test may take 30 days at most, its engagement_timeout included"
