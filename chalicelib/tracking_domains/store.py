"""Where tracking domains are kept.

Access patterns (table ``config``; ``<sub>`` is the subaccount in ten digits, 0 for the primary):

- one domain, whoever owns it → ``pk = tracking-domain#<name>``, ``sk = domain``
- all domains of an account → index ``by_owner``: ``owner = account#<id>/tracking-domains``
- those of one owner, by name → ``owner_key`` begins with ``<sub>#``
- the default of an owner → ``core.defaults``, kind ``tracking-domain``

Names are in their canonical spelling (``core.domain_names``). Every write is conditional on the
``revision`` that it was made from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from typing import Any

from chalicelib.core import defaults, dynamo
from chalicelib.core.domain_names import normalize
from chalicelib.core.dynamo import ConditionFailed, Table, Write
from chalicelib.core.errors import Unavailable
from chalicelib.core.owner_keys import account_partition, owned_items, owner_digits, owner_prefix
from chalicelib.core.reading import Read, read_config
from chalicelib.core.scope import Scope
from chalicelib.tracking_domains.model import TrackingDomain

KIND = "tracking-domain"

_config = Table("config")
_ATTEMPTS = 50
_FIELDS = tuple(TrackingDomain.__slots__)


def get(domain: str) -> TrackingDomain | None:
    """Return the domain, whoever owns it, or ``None``."""
    name = normalize(domain)
    item = _config.get(_pk(name), "domain") if name else None
    return _from_item(item) if item else None


def get_all(domains: Iterable[str], read: Read = read_config) -> dict[str, TrackingDomain]:
    """Return those of the domains that exist, by name."""
    items = read([(_pk(name), "domain") for name in map(normalize, domains) if name])
    return {item["domain"]: _from_item(item) for item in items.values()}


def find(scope: Scope, domain: str) -> TrackingDomain | None:
    """Return the domain if it belongs to the scope, or ``None``."""
    found = get(domain)
    if found is None or found.account_id != scope.account_id:
        return None
    return found if scope.covers(found.subaccount_id) else None


def in_scope(scope: Scope) -> Iterator[TrackingDomain]:
    """Yield the domains of the scope, those of one owner by name."""
    prefix = owner_prefix(scope, "#")
    return map(_from_item, owned_items(_config, scope.account_id, "tracking-domains", prefix))


def create(domain: TrackingDomain) -> bool:
    """Store a new domain; return ``False`` if the name is taken."""
    try:
        _config.create(_to_item(domain))
    except ConditionFailed:
        return False
    return True


def change(
    scope: Scope, domain: str, apply: Callable[[TrackingDomain], TrackingDomain]
) -> TrackingDomain | None:
    """Let ``apply`` make a new record of the present one, until nobody came between.

    A default that another domain had passes over to one that becomes it. Returns the new record,
    ``None`` if the scope has no such domain. What ``apply`` raises passes through.
    """
    for _ in range(_ATTEMPTS):
        before = find(scope, domain)
        if before is None:
            return None
        after = apply(before)
        if after == before or dynamo.transacted(
            [_saving(before, after), *_default_writes(before, after)]
        ):
            return after
    raise Unavailable


def set_compliance(domain: str, status: str) -> bool:
    """Set the compliance status (``valid`` or ``blocked``), for the operator; ``False`` if unknown.

    A blocked domain is in no new links from the next chunk of messages on.
    """
    found = get(domain)
    if found is None:
        return False
    scope = Scope(found.account_id, None)
    return bool(change(scope, domain, lambda now: replace(now, compliance_status=status)))


def delete(scope: Scope, domain: str) -> bool:
    """Delete a domain; return ``False`` if the scope has no such domain."""
    for _ in range(_ATTEMPTS):
        found = find(scope, domain)
        if found is None:
            return False
        gone = dynamo.delete(
            _config,
            _pk(found.domain),
            "domain",
            condition="#revision = :revision",
            values={"revision": found.revision},
        )
        if dynamo.transacted([gone, *_default_writes(found, replace(found, default=False))]):
            return True
    raise Unavailable


def _saving(before: TrackingDomain, after: TrackingDomain) -> Write:
    return dynamo.put(
        _config,
        _to_item(replace(after, revision=before.revision + 1)),
        condition="#revision = :revision",
        values={"revision": before.revision},
    )


def _default_writes(before: TrackingDomain, after: TrackingDomain) -> list[Write]:
    owner = (before.account_id, before.subaccount_id)
    if before.default == after.default:
        return []
    if before.default:
        return [defaults.clearing(KIND, *owner, before.domain)]
    former = defaults.current(KIND, *owner)
    writes = [defaults.setting(KIND, *owner, before.domain, former)]
    if former and (other := get(former)):
        writes.append(_saving(other, replace(other, default=False)))
    return writes


def _pk(name: str) -> str:
    return f"tracking-domain#{name}"


def _to_item(domain: TrackingDomain) -> dict[str, Any]:
    return asdict(domain) | {
        "pk": _pk(domain.domain),
        "sk": "domain",
        "owner": account_partition(domain.account_id, "tracking-domains"),
        "owner_key": f"{owner_digits(domain.subaccount_id)}#{domain.domain}",
    }


def _from_item(item: dict[str, Any]) -> TrackingDomain:
    return TrackingDomain(**{name: item[name] for name in _FIELDS if name in item})
