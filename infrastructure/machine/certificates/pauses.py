"""Keep when an order that failed may be tried again, in a file that outlives a restart.

A pause is for a key, which is a tracking domain's name, :data:`SERVICE` or :data:`EVERYONE`. It
lasts twice as long after each further failure, and ends early when the names of the order change,
or the authority does.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from infrastructure.local.supervisor.private_files import replace_private

#: The service's own names
SERVICE = "service"
#: All tracking domains: what the authority answered does not depend on the name
EVERYONE = "everyone"


@dataclass(frozen=True, slots=True)
class Pause:
    """The last of ``count`` failures, one after another. Times are seconds since the epoch."""

    names: tuple[str, ...]
    directory: str
    count: int
    failed_at: float
    until: float
    text: str


@dataclass(frozen=True, slots=True)
class OrderState:
    """What the file has: ``missing_since`` is when the service's certificate was first missing."""

    pauses: dict[str, Pause]
    missing_since: float | None


def read_state(path: Path) -> OrderState:
    """Return what is stored; a file that is missing or damaged counts as empty."""
    try:
        document = json.loads(path.read_text())
        missing_since = document["missing_since"]
        return OrderState(
            {str(key): _pause(each) for key, each in document["pauses"].items()},
            None if missing_since is None else float(missing_since),
        )
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return OrderState({}, None)


def _pause(document: dict[str, object]) -> Pause:
    pause = Pause(**document)  # type: ignore[arg-type]
    return Pause(
        tuple(map(str, pause.names)),
        str(pause.directory),
        int(pause.count),
        float(pause.failed_at),
        float(pause.until),
        str(pause.text),
    )


class Pauses:
    """The pauses of orders at one authority."""

    def __init__(self, path: Path, directory: str) -> None:
        self._path = path
        self._directory = directory
        state = read_state(path)
        self._pauses = state.pauses
        self._missing_since = state.missing_since

    def get(self, key: str, names: Collection[str] = ()) -> Pause | None:
        """Return the last failure of an order for these names, ``None`` if none failed."""
        pause = self._pauses.get(key)
        is_same = pause and (pause.directory, set(pause.names)) == (self._directory, set(names))
        return pause if is_same else None

    def is_paused(self, key: str, now: float, names: Collection[str] = ()) -> bool:
        """Tell whether an order must wait. A clock that was set back ends the pause."""
        pause = self.get(key, names)
        return pause is not None and pause.failed_at <= now < pause.until

    def failures(self, key: str, names: Collection[str] = ()) -> int:
        """Return how often an order has failed since its last success."""
        pause = self.get(key, names)
        return pause.count if pause else 0

    def add(
        self, key: str, text: str, now: float, seconds: float, names: Collection[str] = ()
    ) -> None:
        """Store a failure; the order waits for ``seconds``."""
        count = self.failures(key, names) + 1
        self._pauses[key] = Pause(
            tuple(sorted(names)), self._directory, count, now, now + seconds, text
        )
        self._save()

    def remove(self, keys: Iterable[str]) -> None:
        """Forget failures."""
        stored_keys = self._pauses.keys() & set(keys)
        if stored_keys:
            for key in stored_keys:
                del self._pauses[key]
            self._save()

    def keys(self) -> frozenset[str]:
        """Return what has failed last time."""
        return frozenset(self._pauses)

    def note_service(self, *, is_missing: bool, now: float) -> None:
        """Store since when the service's certificate is missing; nothing once it is there."""
        if is_missing != (self._missing_since is not None):
            self._missing_since = now if is_missing else None
            self._save()

    def _save(self) -> None:
        document = {
            "pauses": {key: asdict(pause) for key, pause in self._pauses.items()},
            "missing_since": self._missing_since,
        }
        replace_private(self._path, json.dumps(document))
