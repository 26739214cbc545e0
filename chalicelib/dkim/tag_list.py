"""Read the tags of signatures and keys (RFC 6376 3.2)."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_BLANKS: Final = " \t\r\n"


class BadTagList(ValueError):
    """The text is no list of tags; the message says why."""


def read_tags(text: str) -> dict[str, str]:
    """Return the values of tags by name; raises :class:`BadTagList`."""
    tags: dict[str, str] = {}
    *parts, last = text.split(";")
    for part in [*parts, *([last] if last.strip(_BLANKS) else [])]:
        name, separator, value = part.partition("=")
        name = name.strip(_BLANKS)
        if not separator or not _NAME.fullmatch(name):
            raise BadTagList(f"{part.strip(_BLANKS)[:40]!r} is no tag")
        if name in tags:
            raise BadTagList(f"the tag {name[:40]} occurs twice")
        tags[name] = value.strip(_BLANKS)
    return tags


def without_blanks(value: str) -> str:
    """Return a value without the blanks and line ends in it."""
    return "".join(value.split())
