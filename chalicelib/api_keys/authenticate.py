"""Who is calling: the key in the ``Authorization`` header, looked up (spec 5.1).

A key that was found is trusted for ``KEY_CACHE_SECONDS`` by the same process, so that a busy caller
costs no read per request; a key that was not found is looked up each time.
"""

from __future__ import annotations

import base64
import threading

from chalicelib.api_keys import model, store
from chalicelib.api_keys.model import ApiKey
from chalicelib.core import clock
from chalicelib.core.errors import Unauthorized
from chalicelib.core.request import Caller, Request
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.core.settings import settings

_MOST_REMEMBERED = 10_000
_LONGEST_KEY = 512


class KeyCache:
    """Keys found lately, by id, each with the time until which it is trusted."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[float, ApiKey]] = {}
        self._lock = threading.Lock()

    def find(self, key: str) -> ApiKey | None:
        """Return the record of ``key``, from memory or from the store."""
        name = model.key_id(key)
        now = clock.now()
        with self._lock:
            until, known = self._found.get(name, (0.0, None))
        if known is not None and now < until:
            return known
        record = store.get(name)
        with self._lock:
            if len(self._found) >= _MOST_REMEMBERED:
                self._found.clear()
            if record is not None:
                self._found[name] = (now + settings().key_cache_seconds, record)
        return record

    def clear(self) -> None:
        """Forget every key."""
        with self._lock:
            self._found.clear()


keys = KeyCache()


def authenticate(request: Request) -> Caller:
    """Return the caller of an HTTP request; raises 401."""
    record = find(presented_key(request.headers.get("authorization", "")))
    return Caller(_scope(record, request), record.key_id, record.grants)


def _scope(record: ApiKey, request: Request) -> Scope:
    if record.subaccount_id is not None:
        return Scope(record.account_id, record.subaccount_id)
    return Scope(record.account_id, None if request.method in ("GET", "HEAD") else PRIMARY)


def find(key: str) -> ApiKey:
    """Return the record of a key that was presented; raises 401 if there is none."""
    record = keys.find(key) if key and len(key) <= _LONGEST_KEY else None
    if record is None:
        raise Unauthorized
    return record


def presented_key(header: str) -> str:
    """Return the key in an ``Authorization`` value: the raw key, or Basic's user name (spec 5.1).

    With Basic the password must be empty. Anything else gives the empty string.
    """
    header = header.strip()
    scheme, _, rest = header.partition(" ")
    if scheme.lower() != "basic":
        return header
    try:
        user, _, password = base64.b64decode(rest.strip(), validate=True).decode().partition(":")
    except ValueError:
        return ""
    return "" if password else user
