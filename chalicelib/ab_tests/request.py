"""Read the bodies of A/B test requests; the errors are 400 and carry only messages."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

from chalicelib.ab_tests.model import LONGEST_NAME, AbTest, Share, is_test_id
from chalicelib.core.errors import ApiErrors, ServiceError
from chalicelib.core.fields import Body
from chalicelib.core.resource_ids import NEW_ID_RULE

# Decimal places of percentages: enough for thirds; numbers too small for the table become 0
_PLACES = 9
_TIME = re.compile(r"2[01]\d\d-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)", re.ASCII)


class ShareBody(Body):
    """A template of the test."""

    template_id: str
    sample_size: int | None = None
    percent: float | None = None

    def as_share(self) -> Share:
        """Return the share to store."""
        percent = None if self.percent is None else round(self.percent, _PLACES)
        return Share(self.template_id, self.sample_size, percent)


class AbTestBody(Body):
    """The body of every request; a field that is absent or null is not changed."""

    id: str | None = None
    name: str | None = None
    metric: Literal["count_unique_clicked", "count_unique_confirmed_opened"] | None = None
    audience_selection: Literal["percent", "sample_size"] | None = None
    test_mode: Literal["bayesian", "learning"] | None = None
    start_time: str | None = None
    end_time: str | None = None
    total_sample_size: int | None = None
    confidence_level: float | None = None
    engagement_timeout: int | None = None
    default_template: ShareBody | None = None
    variants: list[ShareBody] | None = None


def read(data: Any) -> AbTestBody:
    """Check types, texts and times of a body; raises 400."""
    try:
        body = AbTestBody.parse(data)
    except ServiceError as failure:
        raise refusal(*(_text(error) for error in failure.errors)) from None
    if body.id is not None and not is_test_id(body.id):
        raise refusal(f"id {NEW_ID_RULE}, and may not be 'draft'")
    if body.name is not None and not 1 <= len(body.name.encode()) <= LONGEST_NAME:
        raise refusal(f"name must have 1 to {LONGEST_NAME} bytes")
    return body


def read_new(data: Any) -> tuple[AbTestBody, str, Share]:
    """Check the body of a new test; return it with its name and default template, both required."""
    body = read(data)
    missing = [name for name in ("name", "default_template") if getattr(body, name) is None]
    if body.name is None or body.default_template is None:
        raise refusal(*(f"{name} is a required field" for name in missing))
    return body, body.name, body.default_template.as_share()


def apply_changes(test: AbTest, body: AbTestBody) -> AbTest:
    """Return the test with the fields of the body; raises 400 for a malformed time."""
    plain = ("name", "metric", "audience_selection", "test_mode", "total_sample_size")
    fields: dict[str, Any] = {
        name: getattr(body, name) for name in (*plain, "confidence_level", "engagement_timeout")
    }
    if body.default_template is not None:
        fields["default_template"] = body.default_template.as_share()
    if body.variants is not None:
        fields["variants"] = tuple(variant.as_share() for variant in body.variants)
    if body.confidence_level is not None:
        fields["confidence_level"] = round(body.confidence_level, _PLACES)
    fields["start_ms"] = _milliseconds("start_time", body.start_time)
    fields["end_ms"] = _milliseconds("end_time", body.end_time)
    return replace(test, **{name: value for name, value in fields.items() if value is not None})


def refusal(*messages: str) -> ApiErrors:
    """Return 400 with these messages."""
    return ApiErrors(400, [{"message": message} for message in messages])


def _milliseconds(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        if not _TIME.fullmatch(text):
            raise ValueError(text)
        return int(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise refusal(f"{name} must be a date and time with an offset (ISO 8601)") from None


def _text(error: dict[str, Any]) -> str:
    return str(error.get("description") or error["message"])
