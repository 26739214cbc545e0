"""Identify the caller by its API key or session, and the part of the account (spec 5.1 to 5.7).

HTTP and SMTP work alike: the key names the account; a header (in SMTP the user name) may name a
subaccount. A subaccount's key is confined to its subaccount: a header that names another part of
the account gets 403, since the caller would otherwise act for the wrong one without noticing.

Keys and subaccounts are cached for ``KEY_CACHE_SECONDS`` (``core.config_cache``); if either is not
in the cache, both are read in one request. Ids of subaccounts are unique among all accounts, so the
header's subaccount can be read before the account is known. A subaccount of another account is
treated as one that does not exist.

A request from an address that the key does not allow gets 403, because the key itself is valid
(spec 5.5). Only the peer of the connection counts, never a header. A key whose end has come is not
valid any more: it gets 401 at once, in the cache or not.

A signed-in user is known by a cookie (:mod:`signed_in`), where the request has no
``Authorization``.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final

from chalicelib.api_keys import last_use, model, source_ips, store
from chalicelib.api_keys.grants import with_included
from chalicelib.authentication import rate_limit
from chalicelib.core import clock, config_cache
from chalicelib.core.config_cache import Key
from chalicelib.core.errors import ApiError, Forbidden, Unauthorized, invalid_params
from chalicelib.core.request import NOBODY, Actor, Caller, Request
from chalicelib.core.scope import PRIMARY, Scope
from chalicelib.subaccounts import store as subaccounts
from chalicelib.subaccounts.model import is_id

#: The header that names a subaccount, and the vendor's spelling of it
SUBACCOUNT_HEADERS: Final = ("x-svc-subaccount", "x-msys-subaccount")
INJECT: Final = "smtp/inject"
SEND: Final = "transmissions/modify"

_LONGEST_KEY = 512
_LONGEST_SCHEME = 20
_NO_SCHEME = (
    "the value of Authorization is the API key itself, without '{scheme}' before it; or Basic with"
    " the API key as the user name"
)
_BASIC = "with Basic, the API key is the user name, and the password is empty"
_EXPIRED = "the API key has expired"


def authenticate(request: Request, *, subaccount_header: bool = True) -> Caller:
    """Return the caller of an HTTP request; raises 401, 403, 429, or 400 for a bad header.

    Without ``subaccount_header`` the header that names a subaccount is ignored.
    """
    number = _subaccount_header(request.headers) if subaccount_header else None
    reads = request.method in ("GET", "HEAD")
    caller = _signed_in(request, number, reads=reads)
    if caller is None:
        key = read_key(request.headers.get("authorization", ""))
        caller = _identify(_hash_of(key), number, request.source_ip, spans=reads)
    if not _is_unmetered(request, caller):
        rate_limit.take(caller.account_id)
    return caller


def sender_for(password: str, subaccount: int | None, peer_ip: str) -> Caller:
    """Return the caller of an SMTP session with this key as password (spec 5.7).

    Raises ``Unauthorized`` for an unknown key, and ``Forbidden`` if a known key lacks the grant,
    may not be used from this address, or the subaccount does not exist or is not the key's own.
    """
    return _sender(_hash_of(password), subaccount, peer_ip)


def sender_again(key_id: str, subaccount: int | None, peer_ip: str) -> Caller:
    """Return what :func:`sender_for` returned, if the same key is still allowed to send."""
    return _sender(key_id, subaccount, peer_ip)


def read_key(header: str) -> str:
    """Return the key in an ``Authorization`` value: the raw key, or Basic's user name (spec 5.1).

    A value of another form raises ``Unauthorized``, with what to write instead.
    """
    header = header.strip()
    scheme, blank, rest = header.partition(" ")
    if not blank:
        return header
    if scheme.lower() != "basic":
        raise Unauthorized(_NO_SCHEME.format(scheme=scheme[:_LONGEST_SCHEME]))
    try:
        user, _, password = base64.b64decode(rest.strip(), validate=True).decode().partition(":")
    except ValueError:
        raise Unauthorized(_BASIC) from None
    if password or not user:
        raise Unauthorized(_BASIC)
    return user


def _sender(key_id: str, subaccount: int | None, peer_ip: str) -> Caller:
    number = None if subaccount is None else str(subaccount)
    try:
        caller = _identify(key_id, number, peer_ip, spans=False)
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


def _subaccount_header(headers: Mapping[str, str]) -> str | None:
    numbers = {headers[name] for name in SUBACCOUNT_HEADERS if name in headers}
    if len(numbers) > 1:
        raise invalid_params("the subaccount headers name different subaccounts")
    return next(iter(numbers), None)


def _identify(key_id: str, number: str | None, peer_ip: str, *, spans: bool) -> Caller:
    key_at, owner_at = store.key_of(key_id), subaccount_at(number)
    items = config_cache.read([key_at, *([owner_at] if owner_at else [])])
    if key_at not in items:
        raise Unauthorized
    key = store.from_cached(items[key_at])
    if key.has_expired(clock.now_ms()):
        raise Unauthorized(_EXPIRED)
    if not source_ips.admits(key.valid_ips, peer_ip):
        raise Forbidden("the API key may not be used from this address")
    owner = items[owner_at]["account_id"] if owner_at in items else None
    scope = scope_of(key.account_id, key.subaccount_id, number, spans=spans, owner=owner)
    last_use.note(key)
    # Of what only reads there is no line in the audit log, and the id takes its time
    actor = NOBODY if spans else Actor("key", key.id, key.label)
    return Caller(scope, key.key_id, with_included(key.grants), key.subaccount_id, actor)


def _signed_in(request: Request, number: str | None, *, reads: bool) -> Caller | None:
    """Return the user of a cookie; ``Authorization`` goes before it."""
    if "authorization" in request.headers or "cookie" not in request.headers:
        return None
    # Imported here: no request by key needs it at a cold start
    from chalicelib.authentication import signed_in

    return signed_in.identify(request, number, reads=reads)


def subaccount_at(number: str | None) -> Key | None:
    """Return the key of the subaccount that a header names, or ``None``."""
    if number is None or not is_id(number) or int(number) == PRIMARY:
        return None
    return subaccounts.key_of(int(number))


def scope_of(
    account_id: int, confined_to: int | None, number: str | None, *, spans: bool, owner: int | None
) -> Scope:
    """Return the scope of a request; raises 400 or 403.

    ``owner`` is the account of the subaccount ``number``, if it exists.
    """
    if number is not None and not is_id(number):
        raise invalid_params("the subaccount header must hold the number of a subaccount, or 0")
    if confined_to is not None:
        if number is not None and int(number) != confined_to:
            raise Forbidden(f"the API key can act for subaccount {confined_to} only")
        return Scope(account_id, confined_to)
    if number is None:
        return Scope(account_id, None if spans else PRIMARY)
    if int(number) != PRIMARY and owner != account_id:
        raise invalid_params(f"subaccount {number} does not exist")
    return Scope(account_id, int(number))


def _is_unmetered(request: Request, caller: Caller) -> bool:
    """Tell whether a request is outside the rate limit: sending has limits of its own (spec 8).

    A caller who may not send has none of these.
    """
    sends = request.method == "POST" and request.path.rstrip("/") == "/api/v1/transmissions"
    return sends and SEND in caller.grants
