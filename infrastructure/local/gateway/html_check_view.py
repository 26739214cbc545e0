"""Show the HTML check of a message: what weighs in its score, and every other feature it uses."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from infrastructure.local.messages.client_support import feature_support, platforms_by_family
from infrastructure.local.messages.features import features_of
from infrastructure.local.messages.html_check import UsedFeature, html_check, score_of
from infrastructure.local.messages.links import is_pixel

# As the service writes its pixels
_IMAGE = re.compile(r'<img src="([^"<>]{0,2000})"[^<>]{0,200}>')


def html_check_view(html: str) -> dict[str, Any]:
    """Return the check of a document as ``/local`` shows it.

    ``warnings`` weigh in the score. ``others`` do not, because Mailpit does not test them. Each has
    the ``example`` of its first use, which is empty where only an inlined style has it. What every
    client supports is in neither, nor are the service's pixels, which no sender can change.
    """
    html = _IMAGE.sub(lambda match: "" if is_pixel(match[1]) else match[0], html)
    check = html_check(html)
    features = {each.feature: each for each in features_of(html)}
    slugs = {each.feature.slug for each in check.warnings}
    others = [
        UsedFeature(support, each.uses, score_of(support))
        for slug, each in features.items()
        if slug not in slugs and (support := feature_support(slug)) is not None
    ]

    def shown(uses: list[UsedFeature]) -> list[dict[str, Any]]:
        return [
            {**_shown(each), "example": example.example if example else ""}
            for each in uses
            if each.score.supported < 100
            for example in [features.get(each.feature.slug)]
        ]

    return {
        "nodes": check.nodes,
        "tests": check.tests,
        **asdict(check.total),
        "platforms": platforms_by_family(),
        "warnings": shown(check.warnings),
        "others": shown(others),
    }


def _shown(use: UsedFeature) -> dict[str, Any]:
    return {**asdict(use.feature), "found": use.uses, **asdict(use.score)}
