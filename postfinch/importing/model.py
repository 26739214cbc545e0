"""Define what an import takes, how each of it went, and how far an import has come."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qsl, urlsplit

from postfinch.http_api import Api, ApiError
from postfinch.json_types import Json

Outcome = Literal["taken", "partly", "exists", "failed", "would"]
T = TypeVar("T")

_ATTEMPTS = 8
_SAVED_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class Thing:
    """Something to take; ``subaccount`` is its owner at the source, ``None`` the primary."""

    id: str
    subaccount: int | None = None
    view: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """How taking one thing went; ``reason`` says what could not be taken, and why."""

    kind: str
    id: str
    subaccount: int | None
    outcome: Outcome
    reason: str = ""


@dataclass(slots=True)
class State:
    """How far an import has come, in a file: an import that is stopped goes on there.

    ``subaccounts`` has the number that each of the source's subaccounts has in the new account.
    ``places`` says where to go on in what was taken in part.
    """

    path: Path
    source: str
    target: str
    done: set[str] = field(default_factory=set)
    subaccounts: dict[int, int] = field(default_factory=dict)
    places: dict[str, Json] = field(default_factory=dict)
    _saved: float = 0.0

    @classmethod
    def open(cls, path: Path, source: str, target: str) -> State:
        """Read the file, if there is one; raises ValueError if it is of another import."""
        state = cls(path, source, target)
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return state
        if (fields.get("source"), fields.get("target")) != (source, target):
            raise ValueError(f"{path} is of another import; name another file with --state")
        state.done = set(fields["done"])
        state.subaccounts = {int(old): new for old, new in fields["subaccounts"].items()}
        state.places = fields["places"]
        return state

    def save(self, *, at_once: bool = False) -> None:
        """Write the file, at most once a second unless ``at_once``."""
        if not at_once and time.monotonic() - self._saved < _SAVED_EVERY:
            return
        fields = {
            "source": self.source,
            "target": self.target,
            "done": sorted(self.done),
            "subaccounts": self.subaccounts,
            "places": self.places,
        }
        new = self.path.with_name(self.path.name + ".new")
        new.write_text(json.dumps(fields), encoding="utf-8")
        new.replace(self.path)
        self._saved = time.monotonic()


def patient(call: Callable[[], T]) -> T:
    """Return the result of a call, which is repeated while the service is too busy for it."""
    for attempt in range(_ATTEMPTS):
        try:
            return call()
        except ApiError as error:
            if error.status not in (429, 503):
                raise
            time.sleep(min(2**attempt / 2, 30))
    return call()


def page(api: Api, path: str, query: Json) -> tuple[list[Json], Json]:
    """Return the results of a page, and the query of the next one; it is empty at the end."""
    document: Json = patient(partial(api.document, "GET", path, None, query))
    link = _next_link(document.get("links"))
    return document.get("results", []), dict(
        parse_qsl(urlsplit(link).query, keep_blank_values=True)
    )


def _next_link(links: Any) -> str:
    """Return the link to the next page; ``links`` has it by name, or is an array of links."""
    if isinstance(links, list):
        links = {each.get("rel"): each for each in links}
    link = (links or {}).get("next") or ""
    return str(link.get("href", "")) if isinstance(link, dict) else str(link)
