"""What this process read lately of the ``config`` table, trusted for ``KEY_CACHE_SECONDS``.

Who calls and who sends is asked on every request: the key, its account, its subaccount. Remembering
them saves a busy caller those reads; a change takes effect in this process at once (:func:`forget`)
and in every other one when the time is over. What was not found is remembered by :func:`read_one`
only.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence

from chalicelib.core import caches, clock
from chalicelib.core.dynamo import Item, Table
from chalicelib.core.dynamo import Key as Key
from chalicelib.core.settings import settings

_MOST_REMEMBERED = 10_000

_config = Table("config")
_remembered: dict[Key, tuple[float, Item]] = {}
_lock = threading.Lock()


def read(
    keys: Iterable[Key], *, maybe: Iterable[Key] = (), anew: Sequence[Key] = ()
) -> dict[Key, Item]:
    """Return those items that exist, in at most one request: none when all are known.

    Of ``maybe`` it is remembered as well that there is none. ``anew`` are read each time,
    consistently, and are not remembered.
    """
    now = clock.now()
    optional = list(maybe)
    wanted = [*keys, *optional]
    found = _known(wanted, now)
    unknown = [key for key in wanted if key not in found]
    fetched = _fetch([*unknown, *anew], consistent=bool(anew))
    learnt: dict[Key, Item] = {key: {} for key in optional if key in unknown} | fetched
    _remember({key: item for key, item in learnt.items() if key in unknown}, now)
    return {key: item for key, item in (found | fetched).items() if item}


def read_one(key: Key) -> Item | None:
    """Return an item, or ``None``: that there is none is remembered too."""
    return read([], maybe=[key]).get(key)


def not_remembered(keys: Iterable[Key]) -> list[Key]:
    """Return those of the keys that would be read, for who reads them along with other things."""
    wanted = list(keys)
    held = _known(wanted, clock.now())
    return [key for key in wanted if key not in held]


def learn(keys: Iterable[Key], found: Mapping[Key, Item]) -> None:
    """Remember what was just read of ``keys``, and also that there was nothing."""
    _remember({key: found.get(key, {}) for key in keys}, clock.now())


def forget(*keys: Key) -> None:
    """Forget these items: they have changed."""
    with _lock:
        for key in keys:
            _remembered.pop(key, None)


@caches.register
def clear_cache() -> None:
    """Forget everything."""
    with _lock:
        _remembered.clear()


def _known(keys: Iterable[Key], now: float) -> dict[Key, Item]:
    with _lock:
        held = {key: _remembered[key] for key in keys if key in _remembered}
    return {key: item for key, (until, item) in held.items() if now < until}


def _fetch(keys: Sequence[Key], *, consistent: bool) -> dict[Key, Item]:
    if not keys:
        return {}
    if len(keys) == 1:
        item = _config.get(*keys[0], consistent=consistent)
        return {keys[0]: item} if item else {}
    items = _config.get_all(keys, consistent=consistent)
    return {(item["pk"], item["sk"]): item for item in items}


def _remember(items: dict[Key, Item], now: float) -> None:
    until = now + settings().key_cache_seconds
    with _lock:
        if len(_remembered) + len(items) > _MOST_REMEMBERED:
            _remembered.clear()
        _remembered.update({key: (until, item) for key, item in items.items()})
