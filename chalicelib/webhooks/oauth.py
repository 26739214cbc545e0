"""Access tokens for targets that want OAuth 2.0 (spec 5.8), fetched when needed and kept sealed.

A token is fetched for a webhook's ``auth_request_details`` and goes with them: when those change it
is not used any more. It is fetched anew shortly before its time is over, and when the target
refuses it. Processes share it through the table.

Access patterns (table ``webhooks``):

- the token of a webhook → ``pk = webhook#<id>``, ``sk = token``
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from chalicelib.core import caches, clock, sealing
from chalicelib.core.dynamo import Item, Key, Table
from chalicelib.webhooks import token_request
from chalicelib.webhooks.credentials import Credentials

_table = Table("webhooks")

_MARGIN_MS = 30_000
_MOST_REMEMBERED = 5000
_LONGEST_KEPT = 30 * 86_400

_remembered: dict[str, Token] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Token:
    """An access token. ``details`` is a digest of what it was asked for with; times are ms."""

    value: str
    details: str
    fetched_ms: int
    expires_in: int | None = None

    def is_fresh(self, details: str, now_ms: int) -> bool:
        """Tell whether the token can be used."""
        if self.details != details:
            return False
        if self.expires_in is None:
            return True
        lifetime = self.expires_in * 1000
        return now_ms < self.fetched_ms + max(lifetime - _MARGIN_MS, lifetime // 2)

    def as_json(self) -> dict[str, Any]:
        """Return the ``auth_credentials`` that the service has set (spec 2.10)."""
        return {"access_token": self.value, "expires_in": self.expires_in}


def key_of(webhook_id: str) -> Key:
    """Return where the token of a webhook is kept."""
    return (f"webhook#{webhook_id}", "token")


def token_for(webhook_id: str, credentials: Credentials) -> Token:
    """Return a token that can be used now, fetched if need be; raises ``TokenRefused``."""
    return _usable(webhook_id, credentials) or fetch(webhook_id, credentials)


def token_instead_of(refused: Token, webhook_id: str, credentials: Credentials) -> Token:
    """Return another token than ``refused``: the one that somebody has fetched, or a new one."""
    with _lock:
        _remembered.pop(webhook_id, None)
    known = _usable(webhook_id, credentials)
    return known if known and known.value != refused.value else fetch(webhook_id, credentials)


def fetch(webhook_id: str, credentials: Credentials) -> Token:
    """Ask for a token and keep it; raises ``TokenRefused``."""
    value, expires_in = token_request.ask(credentials)
    token = Token(value, _details(credentials), clock.now_ms(), expires_in)
    _table.put(_to_item(webhook_id, token))
    _remember(webhook_id, token)
    return token


def shown(webhook_ids: Iterable[str]) -> dict[str, Token]:
    """Return the tokens that are kept of these webhooks, 100 a request."""
    keys = {key_of(each): each for each in webhook_ids}
    items = _table.get_all(keys)
    return {keys[item["pk"], item["sk"]]: _from_item(item) for item in items}


@caches.register
def clear_cache() -> None:
    """Forget the tokens that this process remembers."""
    with _lock:
        _remembered.clear()


def _usable(webhook_id: str, credentials: Credentials) -> Token | None:
    details, now_ms = _details(credentials), clock.now_ms()
    with _lock:
        known = _remembered.get(webhook_id)
    if known and known.is_fresh(details, now_ms):
        return known
    item = _table.get(*key_of(webhook_id))
    kept = _from_item(item) if item else None
    if kept is None or not kept.is_fresh(details, now_ms):
        return None
    _remember(webhook_id, kept)
    return kept


def _remember(webhook_id: str, token: Token) -> None:
    with _lock:
        if len(_remembered) >= _MOST_REMEMBERED:
            _remembered.clear()
        _remembered[webhook_id] = token


def _details(credentials: Credentials) -> str:
    asked = json.dumps([credentials.token_url, credentials.token_body], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()


def _to_item(webhook_id: str, token: Token) -> Item:
    pk, sk = key_of(webhook_id)
    kept = _LONGEST_KEPT if token.expires_in is None else token.expires_in
    return {
        "pk": pk,
        "sk": sk,
        "sealed": sealing.seal(token.value.encode(), f"token/{webhook_id}"),
        "details": token.details,
        "fetched_ms": token.fetched_ms,
        "expires_in": token.expires_in,
        "expires": token.fetched_ms // 1000 + kept,
    }


def _from_item(item: Item) -> Token:
    value = sealing.open_sealed(item["sealed"], f"token/{item['pk'].partition('#')[2]}")
    return Token(value.decode(), item["details"], item["fetched_ms"], item["expires_in"])
