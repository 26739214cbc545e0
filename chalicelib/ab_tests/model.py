"""Define one version of an A/B test, and its status at any time.

A version is created as a draft or scheduled. It runs from its start; its templates are tried on
messages until its end or until its sample is used up; then it waits for engagement, and is
completed. It can be cancelled before that. The status at a time follows from the record and the
time alone, so that work that is repeated for an earlier time is decided as it was then.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import asdict, dataclass, field

from chalicelib.ab_tests.bayes import Observation
from chalicelib.core import clock
from chalicelib.core.json_types import Json
from chalicelib.core.resource_ids import LONGEST_ID, is_new_id

DRAFT = "draft"
SCHEDULED = "scheduled"
RUNNING = "running"
COMPLETED = "completed"
CANCELLED = "cancelled"
STATUSES = (DRAFT, SCHEDULED, RUNNING, COMPLETED, CANCELLED)

BAYESIAN = "bayesian"
LEARNING = "learning"

PERCENT = "percent"
SAMPLE_SIZE = "sample_size"

CLICKED = "count_unique_clicked"
OPENED = "count_unique_confirmed_opened"

DEFAULT_CONFIDENCE = 0.95
DEFAULT_TIMEOUT_HOURS = 24
HOUR_MS = 3_600_000
LONGEST_MS = 30 * 24 * HOUR_MS
"""The longest time from the start to the completion of a test (30 days)."""
CHECK_EVERY_MS = 5 * 60 * 1000
"""How often a running test is checked for a template that is certain enough to win."""

LONGEST_NAME = 64
MOST_VARIANTS = 20

_RESERVED_ID = "draft"  # a word in the paths of routes


@dataclass(frozen=True, slots=True)
class Share:
    """A template of a test, and how many messages it gets: a number or a percentage of them."""

    template_id: str
    sample_size: int | None = None
    percent: float | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many messages of one template were accepted, clicked and opened."""

    accepted: int = 0
    clicked: int = 0
    opened: int = 0

    def observation(self, metric: str | None) -> Observation:
        """Return the counts of which the engagement rate is the quotient."""
        return Observation(self.accepted, self.clicked if metric == CLICKED else self.opened)


@dataclass(frozen=True, slots=True)
class AbTest:
    """One version of a test.

    ``state`` is the stored part of the status: it never says ``running``. ``end_ms`` and
    ``total_sample_size`` are as the caller set them; ``ends_ms`` and ``sample`` include the
    defaults. ``sampled_ms`` is when the sample was used up, ``ended_ms`` when the version was
    completed or cancelled, ``due_ms`` when it is checked next. ``counts`` are those at its end.
    ``revision`` changes with each change of the record (stored as ``stamp``).
    """

    account_id: int
    subaccount_id: int | None
    id: str
    version: int
    name: str
    state: str
    default_template: Share
    created_ms: int
    updated_ms: int
    variants: tuple[Share, ...] = ()
    metric: str | None = None
    audience_selection: str | None = None
    test_mode: str | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    total_sample_size: int | None = None
    confidence_level: float = DEFAULT_CONFIDENCE
    engagement_timeout: int = DEFAULT_TIMEOUT_HOURS
    sampled_ms: int | None = None
    ended_ms: int | None = None
    due_ms: int | None = None
    winning_template_id: str | None = None
    counts: dict[str, Counts] = field(default_factory=dict)
    revision: str = ""

    @property
    def shares(self) -> tuple[Share, ...]:
        """Return all templates of the test, the default one first."""
        return (self.default_template, *self.variants)

    @property
    def ends_ms(self) -> int:
        """Return when a scheduled version stops trying templates.

        By default that is after 30 days less the time for engagement.
        """
        assert self.start_ms is not None
        if self.end_ms is not None:
            return self.end_ms
        return self.start_ms + LONGEST_MS - self.engagement_timeout * HOUR_MS

    @property
    def sample(self) -> int | None:
        """Return the number of messages on which templates are tried, ``None`` for no limit."""
        if self.total_sample_size is not None or self.audience_selection != SAMPLE_SIZE:
            return self.total_sample_size
        return sum(share.sample_size or 0 for share in self.shares)

    def status(self, at_ms: int) -> str:
        """Return the status of the version at a time."""
        if self.state == DRAFT or (self.ended_ms is not None and self.ended_ms <= at_ms):
            return self.state
        return RUNNING if self.start_ms is not None and self.start_ms <= at_ms else SCHEDULED

    def tries(self, at_ms: int) -> bool:
        """Tell whether a message that is generated at a time tries a template."""
        return self.status(at_ms) == RUNNING and at_ms < self._sampled_or_over_ms

    def settled_template(self, at_ms: int) -> str:
        """Return the template of a message that tries none: the winner or the default template."""
        if self.status(at_ms) == COMPLETED and self.winning_template_id is not None:
            return self.winning_template_id
        return self.default_template.template_id

    def next_check_ms(self, now_ms: int) -> int:
        """Return when a scheduled or running version is checked next."""
        if self.test_mode != BAYESIAN or self.start_ms is None:
            return self.completes_ms
        return min(max(now_ms, self.start_ms) + CHECK_EVERY_MS, self.completes_ms)

    @property
    def completes_ms(self) -> int:
        """Return the latest time at which a scheduled or running version is completed."""
        return self._sampled_or_over_ms + self.engagement_timeout * HOUR_MS

    @property
    def _sampled_or_over_ms(self) -> int:
        return self.ends_ms if self.sampled_ms is None else min(self.sampled_ms, self.ends_ms)


def shown_fields(test: AbTest) -> Json:
    """Return the fields of a version for the audit log."""
    return {
        "name": test.name,
        "version": test.version,
        "state": test.state,
        "winning_template_id": test.winning_template_id,
        "metric": test.metric,
        "audience_selection": test.audience_selection,
        "test_mode": test.test_mode,
        "start_time": _time(test.start_ms),
        "end_time": _time(test.end_ms),
        "total_sample_size": test.total_sample_size,
        "confidence_level": test.confidence_level,
        "engagement_timeout": test.engagement_timeout,
        "default_template": asdict(test.default_template),
        "variants": [asdict(share) for share in test.variants],
    }


def _time(time_ms: int | None) -> str | None:
    return None if time_ms is None else clock.iso_offset(time_ms / 1000)


def is_test_id(text: str) -> bool:
    """Tell whether a test may have this id."""
    return is_new_id(text) and text != _RESERVED_ID


def id_from_name(name: str) -> str:
    """Derive an id from a name: lower case, with dashes for all but letters and digits."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:LONGEST_ID].strip("-")
    return slug if is_test_id(slug) else f"ab-test-{secrets.token_hex(6)}"
