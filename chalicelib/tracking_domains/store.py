"""Store tracking domains.

Names are in their canonical spelling (``core.domain_names``). Every write is conditional on the
``revision`` that it was made from.

Access patterns of ``config``:

- one domain of any owner → ``tracking-domain#<name>`` / ``domain``
- the parts of an account that had a domain until it was deleted, each for a year →
  ``tracking-domain#<name>`` / ``former``
- all domains of an account → ``account#<account>/tracking-domains`` [by_owner]
- the domains of one owner, by name → ``account#<account>/tracking-domains`` / ``<owner>#*``
  [by_owner]
- the default of an owner → ``default#tracking-domain#<account>`` / ``<subaccount>``
  (``core.defaults``)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import NotRequired, cast

from chalicelib.core import audit, clock, config_cache, defaults, dynamo
from chalicelib.core.domain_names import normalize
from chalicelib.core.dynamo import (
    Attributes,
    Key,
    Keyed,
    Table,
    TransactionFailed,
    Write,
    attributes_of,
)
from chalicelib.core.owner_keys import (
    OwnedKeys,
    account_partition,
    owned_items,
    owner_digits,
    owner_prefix,
)
from chalicelib.core.reading import Read, read_config
from chalicelib.core.scope import Scope
from chalicelib.tracking_domains.model import Owner, TrackingDomain, shown_fields

KIND = "tracking-domain"
RESOURCE = "tracking-domains"
#: How long the owner of a deleted domain is kept: a day longer than tracking tokens live
FORMER_SECONDS = 366 * 86_400


class TrackingDomainItem(OwnedKeys):
    """A tracking domain: the fields of ``TrackingDomain``."""

    domain: str
    account_id: int
    subaccount_id: int | None
    #: In seconds
    created: float
    secure: bool
    default: bool
    cname_status: str
    compliance_status: str
    revision: int


class FormerOwner(Attributes):
    """An owner of a domain that was deleted."""

    account_id: int
    subaccount_id: int | None
    #: When its links work no longer, in seconds
    expires: int


class FormerOwnersItem(FormerOwner, Keyed):
    """The owners that a name had until it was deleted: the latest one, and the others."""

    earlier: NotRequired[list[FormerOwner]]


_config: Table[TrackingDomainItem] = Table("config")
_former: Table[FormerOwnersItem] = Table("config")
_FIELDS = tuple(TrackingDomain.__slots__)


def get(domain: str) -> TrackingDomain | None:
    """Return the domain of any owner, or ``None``."""
    name = normalize(domain)
    item = _config.get(_pk(name), "domain") if name else None
    return _from_item(item) if item else None


def get_all(domains: Iterable[str], read: Read = read_config) -> dict[str, TrackingDomain]:
    """Return those of the domains that exist, by name."""
    keys = [(_pk(name), "domain") for name in map(normalize, domains) if name]
    items: Mapping[Key, TrackingDomainItem] = read(keys)
    return {item["domain"]: _from_item(item) for item in items.values()}


def link_owners(name: str) -> list[Owner]:
    """Return whose links lead to a name: its owner, and who had it in the same account before.

    The answer may be ``KEY_CACHE_SECONDS`` old.
    """
    key, former_key = (_pk(name), "domain"), (_pk(name), "former")
    items = config_cache.read([], maybe=[key, former_key])
    item: TrackingDomainItem | None = items.get(key)
    owners = [Owner(item["account_id"], item["subaccount_id"])] if item else []
    former = _former_owners(items.get(former_key))
    accounts = {each.account_id for each in (*owners, *former)}
    return owners + former if len(accounts) == 1 else owners


def find(scope: Scope, domain: str) -> TrackingDomain | None:
    """Return the domain if it belongs to the scope, or ``None``."""
    tracking_domain = get(domain)
    if tracking_domain is None or tracking_domain.account_id != scope.account_id:
        return None
    return tracking_domain if scope.covers(tracking_domain.subaccount_id) else None


def in_scope(scope: Scope) -> Iterator[TrackingDomain]:
    """Yield the domains of the scope, those of one owner by name."""
    prefix = owner_prefix(scope, "#")
    return map(_from_item, owned_items(_config, scope.account_id, "tracking-domains", prefix))


def create(domain: TrackingDomain) -> bool:
    """Store a new domain; return ``False`` if the name is taken."""
    new = dynamo.put(_config, _to_item(domain), condition="attribute_not_exists(#pk)")
    try:
        audit.commit(new, _line(None, domain))
    except TransactionFailed:
        return False
    finally:
        config_cache.forget((_pk(domain.domain), "domain"))
    return True


def change(
    scope: Scope, domain: str, edit: Callable[[TrackingDomain], TrackingDomain]
) -> TrackingDomain | None:
    """Change a domain by ``edit`` and return it; return ``None`` if the scope has no such domain.

    A domain that becomes the default replaces the former default. ``edit`` may be called again if
    another writer changes the domain meanwhile; what it raises passes through. Raises 503 when
    other writers come first every time.
    """
    return dynamo.update_record(lambda: find(scope, domain), edit, _replace)


def touching(domain: TrackingDomain) -> Write:
    """Return the write that fails if the domain has changed since it was read."""
    return _saving(domain, domain)


def delete(
    scope: Scope, domain: str, check: Callable[[TrackingDomain], None] = lambda _: None
) -> bool:
    """Delete a domain; return ``False`` if the scope has no such domain.

    ``check`` may raise what refuses it; it sees what was written before the domain was read.
    """

    def attempt() -> bool:
        before = find(scope, domain)
        if before is None:
            return False
        check(before)
        deletion = dynamo.delete(
            _config,
            _pk(before.domain),
            "domain",
            **dynamo.if_unchanged("revision", before.revision),
        )
        former_key = (_pk(before.domain), "former")
        former = _with_owner_of(before, _former.get(*former_key))
        defaults_cleared = _default_writes(before, replace(before, default=False))
        dynamo.transact([deletion, former, *defaults_cleared, *_line(before, None)])
        config_cache.forget((_pk(before.domain), "domain"), former_key)
        return True

    return dynamo.retry_conflicts(attempt)


def _replace(before: TrackingDomain, after: TrackingDomain) -> None:
    writes = [_saving(before, after), *_default_writes(before, after)]
    dynamo.transact([*writes, *_line(before, after)])


_line: audit.RecordLines[TrackingDomain] = audit.RecordLines(
    RESOURCE, lambda each: each.domain, shown_fields
)


def _saving(before: TrackingDomain, after: TrackingDomain) -> Write:
    return dynamo.put(
        _config,
        _to_item(replace(after, revision=before.revision + 1)),
        **dynamo.if_unchanged("revision", before.revision),
    )


def _default_writes(before: TrackingDomain, after: TrackingDomain) -> list[Write]:
    owner = (before.account_id, before.subaccount_id)
    if before.default == after.default:
        return []
    if before.default:
        return [defaults.clearing(KIND, *owner, before.domain)]
    former = defaults.of_owner(KIND, *owner)
    writes = [defaults.setting(KIND, *owner, before.domain, former)]
    if former and (other := get(former)):
        writes.append(_saving(other, replace(other, default=False)))
    return writes


def _with_owner_of(domain: TrackingDomain, former: FormerOwnersItem | None) -> Write:
    """Return the write that keeps whose a deleted domain was, as long as links of its mail work.

    ``former`` is the present item. Owners of another account do not stay in it: their links have
    not worked since this account registered the name. Its own attributes are those of the latest
    owner, and ``earlier`` has the others.
    """
    earlier = [
        each
        for each in _former_items(former)
        if each["account_id"] == domain.account_id and each["subaccount_id"] != domain.subaccount_id
    ]
    item: FormerOwnersItem = {
        "pk": _pk(domain.domain),
        "sk": "former",
        "account_id": domain.account_id,
        "subaccount_id": domain.subaccount_id,
        "expires": int(clock.now()) + FORMER_SECONDS,
        "earlier": earlier,
    }
    return dynamo.put(_former, item)


def _former_owners(item: FormerOwnersItem | None) -> list[Owner]:
    return [Owner(each["account_id"], each["subaccount_id"]) for each in _former_items(item)]


def _former_items(item: FormerOwnersItem | None) -> list[FormerOwner]:
    """Return the former owners whose year is not over, the latest one first."""
    if item is None:
        return []
    latest: FormerOwner = {
        "account_id": item["account_id"],
        "subaccount_id": item["subaccount_id"],
        "expires": item["expires"],
    }
    owners = [latest, *item.get("earlier", [])]
    return [each for each in owners if each["expires"] > clock.now()]


def _pk(name: str) -> str:
    return f"tracking-domain#{name}"


def _to_item(domain: TrackingDomain) -> TrackingDomainItem:
    keys: OwnedKeys = {
        "pk": _pk(domain.domain),
        "sk": "domain",
        "owner": account_partition(domain.account_id, "tracking-domains"),
        "owner_key": f"{owner_digits(domain.subaccount_id)}#{domain.domain}",
    }
    return cast(TrackingDomainItem, {**asdict(domain), **keys})


def _from_item(item: TrackingDomainItem) -> TrackingDomain:
    return TrackingDomain(**attributes_of(item, _FIELDS))
