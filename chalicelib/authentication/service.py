"""Who is calling, and which part of the account it is about (spec 5.1, 5.4 to 5.7).

One mechanism for HTTP and SMTP: the key says which account, a header (in SMTP the user name) which
part of it. A subaccount's key is confined to its subaccount whatever the header says.

A key and a subaccount that were found are trusted for ``KEY_CACHE_SECONDS`` by the same process
(``core.recent``); what is not known of both is read in one request. That works because the ids of
subaccounts are unique among all accounts, so the header's can be read before the key's account is
known; a subaccount of another account is treated as one that does not exist.

A request that comes from an address not among the key's gets 403: the key is valid and does not
reach there (spec 5.5). Only the peer of the connection counts, never a header.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final

from chalicelib.api_keys import model, source_ips, store
from chalicelib.api_keys.model import ApiKey
from chalicelib.authentication import rate_limit
from chalicelib.core import config_cache
from chalicelib.core.config_cache import Key
from chalicelib.core.errors import ApiError, Forbidden, Unauthorized, invalid_params
from chalicelib.core.request import Caller, Request
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.subaccounts import store as subaccounts
from chalicelib.subaccounts.model import is_id

#: The header that names a subaccount, and the vendor's spelling of it
SUBACCOUNT_HEADERS: Final = ("x-svc-subaccount", "x-msys-subaccount")
INJECT: Final = "smtp/inject"

_LONGEST_KEY = 512


def authenticate(request: Request) -> Caller:
    """Return the caller of an HTTP request; raises 401, 403, 429, or 400 for a bad header."""
    key = presented_key(request.headers.get("authorization", ""))
    named = _named_subaccount(request.headers)
    spans = request.method in ("GET", "HEAD")
    caller = _identify(_hash_of(key), named, request.source_ip, spans=spans)
    if not _is_unmetered(request):
        rate_limit.take(caller.account_id)
    return caller


def sender_for(password: str, subaccount: int | None, peer_ip: str) -> Caller:
    """Return who sends over SMTP with this key as password, for this subaccount (spec 5.7).

    Raises ``Unauthorized`` for an unknown key and ``Forbidden`` where a known one does not reach:
    it lacks the grant, comes from another address, or names a subaccount that does not exist.
    """
    return _sender(_hash_of(password), subaccount, peer_ip)


def sender_again(key_id: str, subaccount: int | None, peer_ip: str) -> Caller:
    """Return what :func:`sender_for` returned, if the same key still reaches there."""
    return _sender(key_id, subaccount, peer_ip)


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


def _sender(key_id: str, subaccount: int | None, peer_ip: str) -> Caller:
    named = str(subaccount) if subaccount else None
    try:
        caller = _identify(key_id, named, peer_ip, spans=False)
    except ApiError as error:
        if error.status in (401, 403):
            raise
        raise Forbidden(error.errors[0]["description"]) from None
    if INJECT not in caller.grants:
        raise Forbidden("the API key does not have the grant to send over SMTP")
    return caller


def _hash_of(key: str) -> str:
    if not key or len(key) > _LONGEST_KEY:
        raise Unauthorized
    return model.key_id(key)


def _named_subaccount(headers: Mapping[str, str]) -> str | None:
    return next((headers[name].strip() for name in SUBACCOUNT_HEADERS if name in headers), None)


def _identify(key_id: str, named: str | None, peer_ip: str, *, spans: bool) -> Caller:
    key_at, subaccount_at = store.key_of(key_id), _subaccount_at(named)
    found = config_cache.read([key_at, *([subaccount_at] if subaccount_at else [])])
    if key_at not in found:
        raise Unauthorized
    key = store.from_item(found[key_at])
    if not source_ips.admits(key.valid_ips, peer_ip):
        raise Forbidden("the API key may not be used from this address")
    owner = found[subaccount_at]["account_id"] if subaccount_at in found else None
    scope = _scope(key, named, spans=spans, owner=owner)
    return Caller(scope, key.key_id, key.grants, key.subaccount_id)


def _subaccount_at(named: str | None) -> Key | None:
    if named is None or not is_id(named) or int(named) == PRIMARY:
        return None
    return subaccounts.key_of(int(named))


def _scope(key: ApiKey, named: str | None, *, spans: bool, owner: int | None) -> Scope:
    """Return the scope; ``owner`` is the account of the subaccount that was named, if it exists."""
    if key.subaccount_id is not None:
        return Scope(key.account_id, key.subaccount_id)
    if named is None:
        return Scope(key.account_id, None if spans else PRIMARY)
    if not is_id(named):
        raise invalid_params("the subaccount header must hold the number of a subaccount, or 0")
    if int(named) != PRIMARY and owner != key.account_id:
        raise invalid_params(f"subaccount {named} does not exist")
    return Scope(key.account_id, int(named))


def _is_unmetered(request: Request) -> bool:
    """Tell whether a request is outside the rate limit: sending has limits of its own (spec 8)."""
    return request.method == "POST" and request.path.rstrip("/") == "/api/v1/transmissions"
