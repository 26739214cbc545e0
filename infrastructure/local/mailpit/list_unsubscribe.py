"""Read the links of a List-Unsubscribe field (RFC 2369), and say what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_COMMENT = re.compile(r"\([^()]*\)")
_ADDRESS = re.compile(r"mailto:[A-Za-z0-9]")
_URL = re.compile(r"https?://[A-Za-z0-9]", re.IGNORECASE)
_MOST_LINKS = 2
_MOST_CHARACTERS = 20_000


def list_unsubscribe(field: str, post_field: str) -> dict[str, Any]:
    """Return what the API says of the fields List-Unsubscribe and List-Unsubscribe-Post."""
    if not field:
        return {"Header": "", "Links": [], "Errors": "", "HeaderPost": ""}
    links, errors = _read(_COMMENT.sub("", field[:_MOST_CHARACTERS]).strip())
    return {
        "Header": field,
        "Links": links,
        "Errors": ", ".join(errors),
        "HeaderPost": post_field,
    }


def _read(text: str) -> tuple[list[str], list[str]]:
    first, *pieces = text.split("<")
    if not any(">" in piece for piece in pieces):
        return [], [f'"{text}" no valid unsubscribe links found']
    if first or not text.endswith(">"):
        return [], [f'"{text}" should be enclosed in <>']
    if len(pieces) > _MOST_LINKS:
        return [], [f'"{text}" should include a maximum of one email and one HTTP link']
    pairs = [piece.partition(">") for piece in pieces]
    if any(between.strip() != "," for _, _, between in pairs[:-1]):
        return [], [f'"{text}" <> should be split with a comma and optional spaces']
    outcomes = list(_judged([link for link, _, _ in pairs]))
    return [link for link, error in outcomes if not error], [
        error for _, error in outcomes if error
    ]


def _judged(links: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each link with what is wrong with it, if anything is."""
    kinds: set[str] = set()
    for link in links:
        kind = "mailto:" if _ADDRESS.match(link) else "HTTP link" if _URL.match(link) else ""
        if any(character.isspace() for character in link):
            yield link, f'"{link}" should not contain spaces'
        elif not kind:
            yield link, f'"{link}" should start with either http(s):// or mailto:'
        elif kind in kinds:
            yield link, f'"{link}" should only contain one {kind}'
        else:
            kinds.add(kind)
            yield link, ""
