"""Show an HTML check as Mailpit's API does."""

from __future__ import annotations

from typing import Any

from infrastructure.local.messages.client_support import families_by_platform
from infrastructure.local.messages.html_check import HtmlCheck, Score, UsedFeature


def view(check: HtmlCheck) -> dict[str, Any]:
    """Return the answer of `GET /message/{ID}/html-check`."""
    return {
        "Warnings": [_warning(each) for each in check.warnings],
        "Platforms": families_by_platform(),
        "Total": {"Tests": check.tests, "Nodes": check.nodes, **_score(check.total)},
    }


def _warning(used: UsedFeature) -> dict[str, Any]:
    feature = used.feature
    results = [
        {
            "Name": each.name,
            "Platform": each.platform,
            "Family": each.family,
            "Version": each.version,
            "Support": each.support,
            "NoteNumber": each.note,
        }
        for each in feature.results
    ]
    return {
        "Slug": feature.slug,
        "Title": feature.title,
        "Description": feature.description,
        "URL": feature.url,
        "Category": feature.category,
        "Tags": feature.tags,
        "Keywords": feature.keywords,
        "Results": results,
        "NotesByNumber": feature.notes,
        "Score": {"Found": used.uses, **_score(used.score)},
    }


def _score(score: Score) -> dict[str, float]:
    return {
        "Supported": score.supported,
        "Partial": score.partial,
        "Unsupported": score.unsupported,
    }
