"""Cache items of the ``config`` table in this process, for ``KEY_CACHE_SECONDS``.

Every request needs the caller's key, account and subaccount; the cache saves a busy caller those
reads. A change takes effect in this process at once (:func:`forget`), and in every other process
when the time is over. That an item does not exist is cached only where a caller says so
(:func:`read_one`, ``maybe``).

The items that a caller needs are known only once its key was read, but they are mostly those of its
last request. So a process remembers which items were read after a key (:func:`follow`), and when it
reads the key again, one request reads all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence

from chalicelib.core import caches, clock
from chalicelib.core.dynamo import AnyItem, Table
from chalicelib.core.dynamo import Key as Key
from chalicelib.core.settings import settings

_MOST_ENTRIES = 10_000

_config: Table[AnyItem] = Table("config")
_entries: dict[Key, tuple[float, AnyItem]] = {}
_followers: dict[Key, tuple[Key, ...]] = {}
_lock = threading.Lock()


def read(
    keys: Iterable[Key], *, maybe: Iterable[Key] = (), uncached: Sequence[Key] = ()
) -> dict[Key, AnyItem]:
    """Return the items that exist, in at most one request; in none if all are in the cache.

    For ``maybe``, the cache also keeps that there is no item. ``uncached`` keys are read each time,
    consistently, and are not cached.
    """
    now = clock.now()
    optional = list(maybe)
    all_keys = [*keys, *optional]
    cached = _cached(all_keys, now)
    missing = [key for key in all_keys if key not in cached]
    expired = _expired_followers(missing, now)
    fetched = [*missing, *uncached, *(key for key in expired if key not in {*missing, *uncached})]
    items = _fetch(fetched, consistent=bool(uncached or expired))
    entries: dict[Key, AnyItem] = {key: {} for key in optional if key in missing} | items
    unchanged = {key: item for key, item in expired.items() if items.get(key, {}) == item}
    _remember({key: entries[key] for key in missing if key in entries} | unchanged, now)
    return {key: item for key in {*all_keys, *uncached} if (item := (cached | items).get(key))}


def read_one(key: Key) -> AnyItem | None:
    """Return an item, or ``None``; that there is none is cached too."""
    cached = _cached([key], clock.now())
    if key in cached:
        return cached[key] or None
    return read([], maybe=[key]).get(key)


def cached_item(key: Key) -> AnyItem | None:
    """Return an item if it is in the cache; this makes no request."""
    return _cached([key], clock.now()).get(key) or None


def missing_keys(keys: Iterable[Key]) -> list[Key]:
    """Return the keys that are not in the cache, for a caller that reads them with other items."""
    keys = list(keys)
    cached = _cached(keys, clock.now())
    return [key for key in keys if key not in cached]


def learn(keys: Iterable[Key], items: Mapping[Key, AnyItem]) -> None:
    """Cache the items that were just read for ``keys``; the other keys have no item."""
    _remember({key: items.get(key, {}) for key in keys}, clock.now())


def follow(key: Key, followers: Iterable[Key]) -> None:
    """Remember that a caller whose item is ``key`` needed ``followers`` as well.

    When ``key`` is read again, the followers whose time is over are read with it, consistently. One
    that has not changed is cached again: whoever cached it judged the same item. A changed one is
    not; it is read and judged when it is needed.
    """
    with _lock:
        if len(_followers) >= _MOST_ENTRIES:
            _followers.clear()
        _followers[key] = tuple(followers)


def forget(*keys: Key) -> None:
    """Remove items that have changed from the cache."""
    with _lock:
        for key in keys:
            _entries.pop(key, None)


@caches.register
def clear_cache() -> None:
    """Forget everything."""
    with _lock:
        _entries.clear()
        _followers.clear()


def _cached(keys: Iterable[Key], now: float) -> dict[Key, AnyItem]:
    with _lock:
        entries = {key: _entries[key] for key in keys if key in _entries}
    return {key: item for key, (until, item) in entries.items() if now < until}


def _expired_followers(keys: Iterable[Key], now: float) -> dict[Key, AnyItem]:
    """Return the entries, no longer in force, of the items that follow ``keys``."""
    with _lock:
        entries = {
            follower: _entries[follower]
            for key in keys
            for follower in _followers.get(key, ())
            if follower in _entries
        }
    return {key: item for key, (until, item) in entries.items() if now >= until}


def _fetch(keys: Sequence[Key], *, consistent: bool) -> dict[Key, AnyItem]:
    if not keys:
        return {}
    if len(keys) == 1:
        item = _config.get(*keys[0], consistent=consistent)
        return {keys[0]: item} if item else {}
    items = _config.get_all(keys, consistent=consistent)
    return {(item["pk"], item["sk"]): item for item in items}


def _remember(items: dict[Key, AnyItem], now: float) -> None:
    until = now + settings().key_cache_seconds
    with _lock:
        if len(_entries) + len(items) > _MOST_ENTRIES:
            _entries.clear()
        _entries.update({key: (until, item) for key, item in items.items()})
