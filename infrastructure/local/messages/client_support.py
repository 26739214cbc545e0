"""Tell which mail clients support a feature of HTML or CSS, by the data of caniemail.com.

The data is the console's, loaded when it is first asked for; its licence (MIT) is in LICENCES.txt
beside it.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from chalicelib.console.files import FOLDER

_FILE: Final = FOLDER / "vendor" / "caniemail.json"
_SUPPORTS: Final = {"y": "yes", "n": "no"}

_CODE = re.compile(r"`([^`]*)`")
_LINK = re.compile(r"\[([^\[\]]*)\]\((https?://[^()\s]*)\)")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")


@dataclass(frozen=True, slots=True)
class ClientResult:
    """What one version of a client does: yes, no or partial, with the number of a note."""

    family: str
    platform: str
    version: str
    name: str
    support: str
    note: str


@dataclass(frozen=True, slots=True)
class FeatureSupport:
    """A feature; ``description`` and ``notes`` are HTML."""

    slug: str
    title: str
    description: str
    url: str
    category: str
    tags: list[str]
    keywords: str
    notes: dict[str, str]
    results: list[ClientResult]


def feature_support(slug: str) -> FeatureSupport | None:
    """Return what is known of a feature by caniemail's name, ``None`` if it has none."""
    data = _data()
    if slug not in data["features"]:
        return None
    category, description, tags, keywords, notes, lines = data["details"][slug]
    return FeatureSupport(
        slug,
        data["features"][slug][0],
        _as_html(description),
        f"https://www.caniemail.com/features/{slug}/",
        category,
        list(tags),
        keywords,
        {number: _as_html(note) for number, note in notes.items()},
        [
            result
            for client, people_names, line in zip(
                data["client_slugs"], data["clients"], lines.split("|"), strict=True
            )
            for result in _results(client, people_names, line)
        ],
    )


@cache
def families_by_platform() -> dict[str, list[str]]:
    """Return the names of clients on each platform, by the platform's slug."""
    families: dict[str, set[str]] = {}
    data = _data()
    for (_, platform), (family, _) in zip(data["client_slugs"], data["clients"], strict=True):
        families.setdefault(platform, set()).add(family)
    return {platform: sorted(families[platform]) for platform in sorted(families)}


@cache
def platforms_by_family() -> dict[str, list[str]]:
    """Return the platforms of each client, by their names for people."""
    platforms: dict[str, list[str]] = {}
    for family, platform in _data()["clients"]:
        platforms.setdefault(family, []).append(platform)
    return platforms


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(_FILE.read_bytes())
    return data


def _results(client: list[str], people_names: list[str], line: str) -> list[ClientResult]:
    return [
        _result(client, people_names, *version.partition(" ")[::2])
        for version in line.split(",")
        if version
    ]


def _result(client: list[str], people_names: list[str], version: str, support: str) -> ClientResult:
    """Read one version. A support with a note is partial, as Mailpit counts it."""
    return ClientResult(
        family=client[0],
        platform=client[1],
        version=version,
        name=f"{people_names[0]} {people_names[1]} ({version})",
        support=_SUPPORTS.get(support, "partial"),
        note=support.rpartition(" #")[2] if "#" in support else "",
    )


def _as_html(markdown: str) -> str:
    """Return a sentence of Markdown, with code, links and strong text, as HTML."""
    text = html.escape(markdown, quote=False)
    text = _CODE.sub(r"<code>\1</code>", text)
    text = _LINK.sub(r'<a href="\2" target="_blank">\1</a>', text)
    return _STRONG.sub(r"<strong>\1</strong>", text)
