"""Provide access tokens for targets that want OAuth 2.0 (spec 5.8).

A token is fetched when it is needed, with a webhook's ``auth_request_details``; when those change,
it is not used any more. A new one is fetched shortly before it expires, and when the target refuses
it. Processes share tokens through the table, and each remembers those it used.
"""

from __future__ import annotations

import hashlib
import json
import threading

from chalicelib.core import caches, clock
from chalicelib.webhooks import token_request
from chalicelib.webhooks.credentials import Credentials
from chalicelib.webhooks.model import AccessToken
from chalicelib.webhooks.store import tokens

_MOST_CACHED = 5000

_cache: dict[str, AccessToken] = {}
_lock = threading.Lock()


def token_for(webhook_id: str, credentials: Credentials) -> AccessToken:
    """Return a token that can be used now, fetched if need be; raises ``TokenRefused``."""
    return _fresh_token(webhook_id, credentials) or fetch(webhook_id, credentials)


def token_instead_of(token: AccessToken, webhook_id: str, credentials: Credentials) -> AccessToken:
    """Return a token other than ``token``, which the target refused.

    That is the one another process has fetched since, or else a new one.
    """
    with _lock:
        _cache.pop(webhook_id, None)
    fresh = _fresh_token(webhook_id, credentials)
    return fresh if fresh and fresh.value != token.value else fetch(webhook_id, credentials)


def fetch(webhook_id: str, credentials: Credentials) -> AccessToken:
    """Request a token and store it; raises ``TokenRefused``."""
    value, expires_in = token_request.request_token(credentials)
    token = AccessToken(value, _details(credentials), clock.now_ms(), expires_in)
    tokens.put(webhook_id, token)
    _remember(webhook_id, token)
    return token


@caches.register
def clear_cache() -> None:
    """Forget the tokens that this process remembers."""
    with _lock:
        _cache.clear()


def _fresh_token(webhook_id: str, credentials: Credentials) -> AccessToken | None:
    details, now_ms = _details(credentials), clock.now_ms()
    with _lock:
        cached = _cache.get(webhook_id)
    if cached and cached.is_fresh(details, now_ms):
        return cached
    token = tokens.get(webhook_id)
    if token is None or not token.is_fresh(details, now_ms):
        return None
    _remember(webhook_id, token)
    return token


def _remember(webhook_id: str, token: AccessToken) -> None:
    with _lock:
        if len(_cache) >= _MOST_CACHED:
            _cache.clear()
        _cache[webhook_id] = token


def _details(credentials: Credentials) -> str:
    details = json.dumps([credentials.token_url, credentials.token_body], sort_keys=True)
    return hashlib.sha256(details.encode()).hexdigest()
