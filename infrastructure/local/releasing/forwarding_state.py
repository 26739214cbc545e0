"""Keep on disk which messages are to be forwarded, and where the mailbox is looked at next.

A message is among them before the position moves past it, and until a server has taken it.
So a restart loses none; one that is killed between a server's 250 and the next write sends that
message once more.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

from infrastructure.local.releasing.start import FORWARDING_FILE


@dataclass(slots=True)
class Pending:
    """A message that is to be forwarded, ``since`` a time in seconds since 1970."""

    id: str
    since: float


@dataclass(slots=True)
class ForwardingState:
    """The state under one rule; ``validity`` is that of the index whose uids count."""

    rule: str
    validity: int
    position: int
    pending: list[Pending] = field(default_factory=list)


class StateFile:
    """The state in the file of a mailbox's folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FORWARDING_FILE

    def read(self) -> ForwardingState | None:
        """Return what was written, ``None`` if nothing was or it cannot be read."""
        try:
            content = json.loads(self._path.read_bytes())
            pending = [Pending(**each) for each in content.pop("pending")]
            return ForwardingState(**content, pending=pending)
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return None

    def write(self, state: ForwardingState) -> None:
        """Write the state, as a whole."""
        fresh = self._path.with_name(f"{FORWARDING_FILE}.new")
        with fresh.open("w") as file:
            json.dump(asdict(state), file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)
