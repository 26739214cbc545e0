"""Fetch what a provider publishes: its configuration (OpenID Connect Discovery) and its keys.

Both are kept for an hour. Keys are fetched again where a token names one that is not among them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from chalicelib.core import caches, clock, web_fetch
from chalicelib.core.identity_providers import IdentityProvider
from chalicelib.single_sign_on.model import FAILED, SignInFailed

_LIFETIME: Final = 3600.0
# The keys of Entra ID take about 20 KB
_MOST_BYTES = 262_144
_WELL_KNOWN = "/.well-known/openid-configuration"
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")

_entries: dict[tuple[str, str], tuple[float, Mapping[str, Any]]] = {}
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a provider publishes about itself. ``userinfo_endpoint`` may be empty.

    ``names_issuer``: answers of the authorization endpoint hold the issuer (RFC 9207).
    """

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    authentication_methods: tuple[str, ...] = ()
    names_issuer: bool = False


def configuration(provider: IdentityProvider) -> Configuration:
    """Return a provider's configuration; raises :class:`SignInFailed`."""
    fields = _cached(provider, "configuration") or _fetch_configuration(provider)
    methods = fields.get("token_endpoint_auth_methods_supported")
    return Configuration(
        authorization_endpoint=fields["authorization_endpoint"],
        token_endpoint=fields["token_endpoint"],
        jwks_uri=fields["jwks_uri"],
        userinfo_endpoint=fields.get("userinfo_endpoint") or "",
        authentication_methods=tuple(methods) if isinstance(methods, list) else (),
        names_issuer=fields.get("authorization_response_iss_parameter_supported") is True,
    )


def keys(provider: IdentityProvider, *, fresh: bool = False) -> Mapping[str, Any]:
    """Return a provider's JSON Web Key Set, ``fresh`` ones from the provider itself."""
    entry = None if fresh else _cached(provider, "keys")
    return entry or _remember(
        provider, "keys", fetch(provider, configuration(provider).jwks_uri, "its keys")
    )


def fetch(
    provider: IdentityProvider, url: str, what: str, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return a JSON object of a provider; raises :class:`SignInFailed`."""
    try:
        response = web_fetch.get(
            url, headers or {}, most=_MOST_BYTES, private=provider.private_network
        )
    except web_fetch.FetchFailed as error:
        raise SignInFailed(FAILED, f"{provider.id}: {what} at {url}: {error}") from error
    return read_object(provider, response, what)


def read_object(
    provider: IdentityProvider, response: web_fetch.Response, what: str
) -> dict[str, Any]:
    """Return the JSON object of a response; raises :class:`SignInFailed`."""
    if response.status != 200:
        raise SignInFailed(FAILED, f"{provider.id}: {what}: status {response.status}")
    try:
        value = json.loads(response.body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise SignInFailed(FAILED, f"{provider.id}: {what}: no JSON object")
    return value


@caches.register
def clear_cache() -> None:
    """Forget everything."""
    with _lock:
        _entries.clear()


def _fetch_configuration(provider: IdentityProvider) -> Mapping[str, Any]:
    url = provider.issuer.rstrip("/") + _WELL_KNOWN
    fields = fetch(provider, url, "its configuration")
    if fields.get("issuer") != provider.issuer:
        issuer = repr(fields.get("issuer"))[:200]
        raise SignInFailed(FAILED, f"{provider.id}: the configuration is of the issuer {issuer}")
    endpoints = [*_ENDPOINTS, *(["userinfo_endpoint"] if fields.get("userinfo_endpoint") else [])]
    for name in endpoints:
        if not _is_secure(provider, fields.get(name)):
            raise SignInFailed(FAILED, f"{provider.id}: {name} is no URL with https")
    return _remember(provider, "configuration", fields)


def _is_secure(provider: IdentityProvider, url: Any) -> bool:
    """Tell whether an endpoint has a URL with https, or with http as the issuer has."""
    if not isinstance(url, str) or not url.isascii():
        return False
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        return False
    return scheme in ("https", urlsplit(provider.issuer).scheme)


def _cached(provider: IdentityProvider, what: str) -> Mapping[str, Any] | None:
    with _lock:
        until, fields = _entries.get((provider.issuer, what), (0.0, {}))
    return fields if clock.now() < until else None


def _remember(
    provider: IdentityProvider, what: str, fields: Mapping[str, Any]
) -> Mapping[str, Any]:
    with _lock:
        _entries[provider.issuer, what] = (clock.now() + _LIFETIME, fields)
    return fields
