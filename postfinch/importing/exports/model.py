"""Define what the export of any service holds, in the terms of this one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from postfinch.json_types import Json

Reason = Literal["bounce", "complaint", "unsubscribe", "manual"]

_BOTH = ("transactional", "non_transactional")
#: Bounces block all mail, as the service's own; who complains or unsubscribes gets what is
#: transactional
_TYPES: dict[Reason, tuple[str, ...]] = {
    "bounce": _BOTH,
    "manual": _BOTH,
    "complaint": _BOTH[1:],
    "unsubscribe": _BOTH[1:],
}
_LONGEST_DESCRIPTION = 500
_LONGEST_ID = 64


@dataclass(frozen=True, slots=True)
class Suppression:
    """A recipient who must not get mail; ``list_id`` is set if that holds for one list."""

    recipient: str
    reason: Reason
    description: str = ""
    list_id: str = ""
    #: Mail was refused for a time only
    temporary: bool = False

    def entries(self, service: str, mark: str) -> Iterator[Json]:
        """Yield the entries of a bulk load; ``mark`` is in their description."""
        detail = f": {self.description}" if self.description else ""
        text = f"{self.reason.capitalize()} at {service} {mark}{detail}"[:_LONGEST_DESCRIPTION]
        for kind in _TYPES[self.reason]:
            entry = {"recipient": self.recipient, "type": kind, "description": text}
            yield entry | ({"list_id": self.list_id} if self.list_id else {})


@dataclass(frozen=True, slots=True)
class ForeignTemplate:
    """A template of another service, in its language; ``sender`` is empty if it has none."""

    id: str
    name: str
    subject: str
    html: str = ""
    text: str = ""
    sender: Json | str = ""
    reply_to: str = ""
    published: bool = True
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that is not taken on purpose."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """Something that no export of the service has; ``text`` shows it."""

    text: str


Entry = Suppression | ForeignTemplate | Skipped | NotUnderstood


@dataclass(frozen=True, slots=True)
class Row:
    """A row or object of an export; names are compared by their letters and digits alone."""

    values: Json = field(default_factory=dict)
    #: The first line of a CSV file: names without values
    is_heading: bool = False

    @classmethod
    def of(cls, document: Json) -> Row:
        """Return the row of an object."""
        return cls({plain(str(name)): value for name, value in document.items()})

    def has(self, *names: str) -> bool:
        """Tell whether the row has one of these columns."""
        return any(name in self.values for name in names)

    def text(self, *names: str) -> str:
        """Return the first of these columns that has a value."""
        for name in names:
            if (value := self.values.get(name)) not in (None, ""):
                return str(value).strip()
        return ""


def plain(name: str) -> str:
    """Return ``Email Address`` and ``EmailAddress`` as ``emailaddress``."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def id_of(*texts: str) -> str:
    """Return the first text that is not empty as the id of a template."""
    text = next(filter(None, texts), "")
    return re.sub(r"[^A-Za-z0-9_.\-]+", "-", text).strip("-.")[:_LONGEST_ID]
