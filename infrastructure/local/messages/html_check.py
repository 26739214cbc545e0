"""Say how well mail clients show a message's HTML, with the score that Mailpit gives.

Each feature that the HTML uses is weighed by the part of its elements that use it. The score loses
what the worst feature is not supported, and what the worst one is supported in part.
"""

from __future__ import annotations

from dataclasses import dataclass

from infrastructure.local.messages.client_support import (
    FeatureSupport,
    feature_support,
)
from infrastructure.local.messages.html_uses import MOST_CHARACTERS, SCRIPT, TESTED, HtmlUses
from infrastructure.local.messages.inlining import inlined

_SCRIPT_SUPPORT = FeatureSupport(
    SCRIPT,
    "<script> element",
    "JavaScript is not supported in any email client.",
    "",
    "html",
    [],
    "",
    {},
    [],
)


@dataclass(frozen=True, slots=True)
class Score:
    """Percentages of clients that support a feature, in part, or not at all."""

    supported: float
    partial: float
    unsupported: float


@dataclass(frozen=True, slots=True)
class UsedFeature:
    """A feature, and how often the HTML uses it."""

    feature: FeatureSupport
    uses: int
    score: Score

    def weight(self, nodes: int) -> float:
        """Return by how much the feature may harm, in percent."""
        return (self.score.partial + self.score.unsupported) * self.uses / max(nodes, 1)


@dataclass(frozen=True, slots=True)
class HtmlCheck:
    """The check of a document with ``nodes`` elements; the worst warnings come first."""

    nodes: int
    tests: int
    total: Score
    warnings: list[UsedFeature]


def html_check(html: str) -> HtmlCheck:
    """Check HTML, at most its first million characters."""
    html = html[:MOST_CHARACTERS]
    uses = HtmlUses(html, inlined(html))
    warnings = [
        UsedFeature(feature, count, score_of(feature))
        for slug, count in uses.counts.items()
        if (feature := _SCRIPT_SUPPORT if slug == SCRIPT else feature_support(slug))
    ]
    warnings.sort(key=lambda each: each.weight(uses.nodes), reverse=True)
    return HtmlCheck(uses.nodes, len(TESTED), _total(warnings, uses.nodes), warnings)


def score_of(feature: FeatureSupport) -> Score:
    """Return how many of the tested versions of clients support a feature."""
    supports = [each.support for each in feature.results]
    if not supports:
        return Score(0.0, 0.0, 100.0)
    percent = 100 / len(supports)
    return Score(*(round(supports.count(each) * percent, 5) for each in ("yes", "partial", "no")))


def _total(warnings: list[UsedFeature], nodes: int) -> Score:
    def worst(percentages: list[float]) -> float:
        return min(100.0, max(percentages, default=0.0))

    nodes = max(nodes, 1)
    unsupported = worst([each.score.unsupported * each.uses / nodes for each in warnings])
    partial = worst([each.score.partial * each.uses / nodes for each in warnings])
    partial = min(partial, 100 - unsupported)
    return Score(round(100 - partial - unsupported, 5), round(partial, 5), round(unsupported, 5))
