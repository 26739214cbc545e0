"""Serve ``/ip-pools`` (spec 4.7) and ``/sending-ips``. Errors carry a message and no code.

Both belong to the account as a whole. A subaccount may read them; if it sends by one pool only, it
sees that pool only.
"""

from __future__ import annotations

from chalicelib.core import clock
from chalicelib.core.errors import Forbidden, NotFound, bare_errors
from chalicelib.core.http import Reply, Request, Routes, empty, ok
from chalicelib.fleet import store
from chalicelib.fleet.model import SendingIp
from chalicelib.ip_pools import service
from chalicelib.ip_pools.request import read_address, read_ip_change, read_pool
from chalicelib.ip_pools.view import changed_pool_view, ip_view, pool_view, warmup_view

routes = Routes(__name__)


@routes.get("/api/v1/ip-pools", grant="ip_pools/view")
@bare_errors()
def list_pools(request: Request) -> Reply:
    """List the pools, the default one first."""
    fleet, is_visible = service.visible_fleet(request.caller.scope)
    return ok([pool_view(fleet, pool) for pool in fleet.all_pools() if is_visible(pool.id)])


@routes.post("/api/v1/ip-pools", grant="ip_pools/manage")
@bare_errors()
def create_pool(request: Request) -> Reply:
    """Create a pool; its id is made from its name."""
    account_id = _manager(request)
    return ok({"id": service.create_pool(account_id, read_pool(request.json(), new=True))})


@routes.get("/api/v1/ip-pools/{pool_id}", grant="ip_pools/view")
@bare_errors()
def show_pool(request: Request, pool_id: str) -> Reply:
    """Show a pool with its IPs."""
    fleet, is_visible = service.visible_fleet(request.caller.scope)
    pool = fleet.pool(pool_id)
    if pool is None or not is_visible(pool.id):
        raise NotFound("IP pool not found.")
    return ok(pool_view(fleet, pool))


@routes.put("/api/v1/ip-pools/{pool_id}", grant="ip_pools/manage")
@bare_errors()
def update_pool(request: Request, pool_id: str) -> Reply:
    """Change the fields that the body has; the id does not change."""
    account_id = _manager(request)
    pool = service.update_pool(account_id, pool_id, read_pool(request.json(), new=False))
    return ok(changed_pool_view(pool))


@routes.delete("/api/v1/ip-pools/{pool_id}", grant="ip_pools/manage")
@bare_errors()
def delete_pool(request: Request, pool_id: str) -> Reply:
    """Delete a pool; its IPs move to the default pool.

    A pool by which subaccounts or scheduled transmissions send stays.
    """
    service.delete_pool(_manager(request), pool_id)
    return empty(204)


@routes.get("/api/v1/sending-ips", grant="ip_pools/view")
@bare_errors()
def list_ips(request: Request) -> Reply:
    """List the sending IPs, by address."""
    fleet, is_visible = service.visible_fleet(request.caller.scope)
    return ok([ip_view(ip) for ip in fleet.ips if is_visible(ip.ip_pool)])


@routes.get("/api/v1/sending-ips/{external_ip}", grant="ip_pools/view")
@bare_errors()
def show_ip(request: Request, external_ip: str) -> Reply:
    """Show a sending IP."""
    return ok(ip_view(_visible_ip(request, external_ip)))


@routes.get("/api/v1/sending-ips/{external_ip}/warmup", grant="ip_pools/view")
@bare_errors()
def show_warmup(request: Request, external_ip: str) -> Reply:
    """Show what a sending IP sent on each day of its warm-up, and the limit of the day."""
    ip = _visible_ip(request, external_ip)
    days = store.warmup_days(request.caller.account_id, ip.external_ip)
    return ok(warmup_view(ip, days, clock.now()))


@routes.put("/api/v1/sending-ips/{external_ip}", grant="ip_pools/manage")
@bare_errors()
def update_ip(request: Request, external_ip: str) -> Reply:
    """Move a sending IP to another pool, or change its warm-up."""
    account_id = _manager(request)
    address = read_address(external_ip)
    service.update_ip(account_id, address, read_ip_change(request.json()))
    return ok({"message": "Updated Sending IP."})


def _visible_ip(request: Request, external_ip: str) -> SendingIp:
    address = read_address(external_ip)
    fleet, is_visible = service.visible_fleet(request.caller.scope)
    ip = fleet.ip(address)
    if ip is None or not is_visible(ip.ip_pool):
        raise NotFound("Sending IP does not exist")
    return ip


def _manager(request: Request) -> int:
    """Return the account whose pools the request changes; raises 403 for a subaccount."""
    if request.caller.scope.owner is not None:
        raise Forbidden("IP pools are managed by the primary account")
    return request.caller.account_id
