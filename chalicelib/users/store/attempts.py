"""Store how often sign-ins failed lately, for all processes.

The address of a user is stored as a keyed digest only. What is stored ends a day after the last
failure.

Access patterns of ``config``:

- the failures of one network, site, address or device, or with the codes of one user →
  ``attempts#<kind>#<digest>`` / ``attempts``
- when the last mails left that reset the password of one address →
  ``resets#<digest>`` / ``resets``
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from chalicelib.core import clock, dynamo, signing
from chalicelib.core.config_cache import Key
from chalicelib.core.dynamo import Keyed, Table, Write

MEMORY_SECONDS: Final = 86_400

_PURPOSE = "attempts to sign in"


class AttemptsItem(Keyed):
    """Failures of a network, an address or a device: the fields of ``Failures``."""

    level: float
    at: float
    until: float
    revision: str
    expires: int


class ResetsItem(Keyed):
    """When mails to reset a password left lately, in seconds."""

    times: list[float]
    revision: str
    expires: int


@dataclass(frozen=True, slots=True)
class Failures:
    """The failures of a network, an address or a device. Times are seconds.

    ``level`` is how many they were at the time ``at``; before ``until`` nothing is tried.
    ``revision`` is drawn anew for each change, and ``None`` where nothing is stored.
    """

    level: float = 0.0
    at: float = 0.0
    until: float = 0.0
    revision: str | None = field(default_factory=dynamo.draw_revision)


_attempts: Table[AttemptsItem] = Table("config")
_resets: Table[ResetsItem] = Table("config")


def name_of(kind: str, text: str) -> str:
    """Return the name under which the failures of a network, an address or a device are stored."""
    return f"{kind}#{_digest(text)}"


def read(names: Iterable[str]) -> dict[str, Failures]:
    """Return the failures of each name, in one request."""
    keys = {name: _key(name) for name in names}
    items = {item["pk"]: item for item in _attempts.get_all(keys.values(), consistent=True)}
    return {name: _failures(items.get(pk)) for name, (pk, _) in keys.items()}


def replace(failures: Mapping[str, Failures], unchanged: Mapping[str, Failures]) -> bool:
    """Store failures in one request; return ``False`` if one of ``unchanged`` is no longer so."""
    return dynamo.try_transact(
        [_put(name, each, unchanged.get(name)) for name, each in failures.items()]
    )


def take_reset(email: str, *, most: int, seconds: float) -> bool:
    """Count a mail to an address; return ``False`` if it had ``most`` in the last ``seconds``."""
    pk, sk = f"resets#{_digest(email)}", "resets"
    now = clock.now()

    def attempt() -> bool:
        item = _resets.get(pk, sk)
        times = [each for each in item["times"] if now - each < seconds] if item else []
        if len(times) >= most:
            return False
        new: ResetsItem = {
            "pk": pk,
            "sk": sk,
            "times": [*times, now],
            "revision": dynamo.draw_revision(),
            "expires": int(now + seconds) + 1,
        }
        _resets.put(new, **dynamo.if_unchanged("revision", item["revision"] if item else None))
        return True

    return dynamo.retry_conflicts(attempt)


def _put(name: str, failures: Failures, unchanged: Failures | None) -> Write:
    pk, sk = _key(name)
    item: AttemptsItem = {
        "pk": pk,
        "sk": sk,
        "level": failures.level,
        "at": failures.at,
        "until": failures.until,
        "revision": failures.revision or dynamo.draw_revision(),
        "expires": int(failures.at) + MEMORY_SECONDS,
    }
    condition = dynamo.if_unchanged("revision", unchanged.revision) if unchanged else {}
    return dynamo.put(_attempts, item, **condition)


def _failures(item: AttemptsItem | None) -> Failures:
    if item is None:
        return Failures(revision=None)
    if clock.now() - item["at"] >= MEMORY_SECONDS:
        return Failures(revision=item["revision"])
    return Failures(float(item["level"]), float(item["at"]), float(item["until"]), item["revision"])


def _key(name: str) -> Key:
    return (f"attempts#{name}", "attempts")


def _digest(text: str) -> str:
    return signing.tag_text(text.lower().encode("utf-8", "surrogatepass"), _PURPOSE)
