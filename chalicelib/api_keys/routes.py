"""Serve ``/api-keys``.

The subaccount header names the owner of the keys; without it, a new key belongs to the primary
account (spec 5.6).
"""

from __future__ import annotations

from chalicelib.api_keys import model, store
from chalicelib.api_keys.grants import supported
from chalicelib.api_keys.model import ApiKey
from chalicelib.api_keys.request import check_grants, read_filter, read_key
from chalicelib.api_keys.view import key_view
from chalicelib.core.errors import NotFound
from chalicelib.core.http import Reply, Request, Routes, empty, ok
from chalicelib.core.params import Params

routes = Routes(__name__)


@routes.get("/api/v1/api-keys", grant="api_keys/manage")
def list_keys(request: Request) -> Reply:
    """Return the keys in scope that the query asks for."""
    admits = read_filter(request.query).admits
    caller = request.caller
    confined = caller.confined_to is not None
    keys = [key for key in store.in_scope(caller.scope) if admits(key)]
    return ok([key_view(key, confined=confined) for key in keys])


@routes.post("/api/v1/api-keys", grant="api_keys/manage")
def create_key(request: Request) -> Reply:
    """Create a key and return it, this once."""
    caller = request.caller
    params = Params(request.json())
    fields = read_key(params, supported(caller.scope.owner), required=True)
    params.check()
    check_grants(fields.grants, caller.grants)
    secret = model.draw_key()
    key = model.new_key(
        secret,
        caller.account_id,
        fields.label or "",
        fields.grants or (),
        subaccount_id=caller.scope.owner,
        valid_ips=fields.valid_ips or (),
        expires_ms=fields.expires_ms,
        created_by=caller.actor,
    )
    store.put(key)
    return ok({"id": key.id, "key": secret, "short_key": key.short_key, "label": key.label})


@routes.get("/api/v1/api-keys/{key_id}", grant="api_keys/manage")
def show_key(request: Request, key_id: str) -> Reply:
    """Return one key, without the key itself."""
    confined = request.caller.confined_to is not None
    return ok(key_view(_key(request, key_id), confined=confined))


@routes.put("/api/v1/api-keys/{key_id}", grant="api_keys/manage")
def change_key(request: Request, key_id: str) -> Reply:
    """Change those of label, grants, addresses and end that the body has."""
    key = _key(request, key_id)
    params = Params(request.json())
    fields = read_key(params, supported(key.subaccount_id), required=False)
    params.check()
    check_grants(fields.grants, request.caller.grants)
    changes = fields.changes()
    if changes and not store.change(key, changes):
        raise NotFound
    return ok({"message": "API key has been updated"})


@routes.delete("/api/v1/api-keys/{key_id}", grant="api_keys/manage")
def delete_key(request: Request, key_id: str) -> Reply:
    """Delete a key; it stops to work within ``KEY_CACHE_SECONDS``."""
    store.delete(_key(request, key_id))
    return empty(204)


def _key(request: Request, key_id: str) -> ApiKey:
    key = store.find(request.caller.scope, key_id)
    if key is None:
        raise NotFound
    return key
