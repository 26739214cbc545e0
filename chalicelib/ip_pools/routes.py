"""``/ip-pools`` (spec 4.7) and ``/sending-ips``. Errors here carry a message, and no code.

Both belong to the account as a whole. On behalf of a subaccount they can be read, as far as the
subaccount is not limited to one pool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chalicelib.accounts import store as accounts
from chalicelib.core import clock
from chalicelib.core.errors import Forbidden, NotFound, bare_errors
from chalicelib.core.http import Caller, Reply, Request, Routes, empty, ok
from chalicelib.ip_pools import changes, store
from chalicelib.ip_pools.model import Fleet, IpPool
from chalicelib.ip_pools.request import read_address, read_ip_change, read_pool
from chalicelib.ip_pools.signing import check_domains
from chalicelib.ip_pools.warmup import tomorrow_ms
from chalicelib.subaccounts import store as subaccounts

routes = Routes(__name__)


@routes.get("/api/v1/ip-pools", grant="ip_pools/view")
@bare_errors()
def list_pools(request: Request) -> Reply:
    """List the pools, the default one first."""
    fleet, may_see = _seen_by(request.caller)
    return ok([fleet.pool_json(pool) for pool in fleet.all_pools() if may_see(pool.id)])


@routes.post("/api/v1/ip-pools", grant="ip_pools/manage")
@bare_errors()
def create_pool(request: Request) -> Reply:
    """Create a pool; its id is made from its name."""
    account_id = _manager(request)
    fields = check_domains(account_id, read_pool(request.json(), new=True))
    enterprise = accounts.acting(account_id).is_enterprise
    created = ""

    def edit(fleet: Fleet) -> Fleet:
        nonlocal created
        created = changes.id_for(fleet, fields.name or "")
        return changes.with_new_pool(fleet, created, fields, enterprise=enterprise)

    store.change(account_id, edit)
    return ok({"id": created})


@routes.get("/api/v1/ip-pools/{pool_id}", grant="ip_pools/view")
@bare_errors()
def show_pool(request: Request, pool_id: str) -> Reply:
    """Show a pool with its IPs."""
    fleet, may_see = _seen_by(request.caller)
    pool = fleet.pool(pool_id)
    if pool is None or not may_see(pool.id):
        raise NotFound("IP pool not found.")
    return ok(fleet.pool_json(pool))


@routes.put("/api/v1/ip-pools/{pool_id}", grant="ip_pools/manage")
@bare_errors()
def update_pool(request: Request, pool_id: str) -> Reply:
    """Change what the body names; the id stays."""
    account_id = _manager(request)
    fields = check_domains(account_id, read_pool(request.json(), new=False))
    enterprise = accounts.acting(account_id).is_enterprise
    fleet = store.change(
        account_id,
        lambda fleet: changes.with_changed_pool(fleet, pool_id, fields, enterprise=enterprise),
    )
    return ok(_updated(fleet.in_force(pool_id)))


@routes.delete("/api/v1/ip-pools/{pool_id}", grant="ip_pools/manage")
@bare_errors()
def delete_pool(request: Request, pool_id: str) -> Reply:
    """Delete a pool; its IPs move to the default pool."""
    store.change(_manager(request), lambda fleet: changes.without_pool(fleet, pool_id))
    return empty(204)


@routes.get("/api/v1/sending-ips", grant="ip_pools/view")
@bare_errors()
def list_ips(request: Request) -> Reply:
    """List the sending IPs, by address."""
    fleet, may_see = _seen_by(request.caller)
    return ok([ip.as_json() for ip in fleet.ips if may_see(ip.ip_pool)])


@routes.get("/api/v1/sending-ips/{external_ip}", grant="ip_pools/view")
@bare_errors()
def show_ip(request: Request, external_ip: str) -> Reply:
    """Show a sending IP."""
    address = read_address(external_ip)
    fleet, may_see = _seen_by(request.caller)
    ip = fleet.ip(address)
    if ip is None or not may_see(ip.ip_pool):
        raise NotFound("Sending IP does not exist")
    return ok(ip.as_json())


@routes.put("/api/v1/sending-ips/{external_ip}", grant="ip_pools/manage")
@bare_errors()
def update_ip(request: Request, external_ip: str) -> Reply:
    """Move a sending IP to another pool, or change its warm-up."""
    account_id = _manager(request)
    address = read_address(external_ip)
    change = read_ip_change(request.json())
    tomorrow = tomorrow_ms(clock.now())
    store.change(
        account_id, lambda fleet: changes.with_changed_ip(fleet, address, change, tomorrow)
    )
    return ok({"message": "Updated Sending IP."})


def _manager(request: Request) -> int:
    """Return the account whose pools the request changes; raises 403 for a subaccount's."""
    if request.caller.scope.owner is not None:
        raise Forbidden("IP pools are managed by the primary account")
    return request.caller.account_id


def _seen_by(caller: Caller) -> tuple[Fleet, Callable[[str], bool]]:
    """Return the fleet, and what tells whether the caller may see a pool."""
    fleet, number = store.get(caller.account_id), caller.scope.owner
    subaccount = subaccounts.get(caller.account_id, number) if number else None
    if subaccount is None or not subaccount.ip_pool:
        return fleet, lambda _: True
    return fleet, fleet.in_force(subaccount.ip_pool).id.__eq__


def _updated(pool: IpPool) -> Mapping[str, str]:
    return {
        "id": pool.id,
        "name": pool.name,
        "fbl_signing_domain": pool.fbl_signing_domain,
        "auto_warmup_overflow_pool": pool.auto_warmup_overflow_pool,
    }
