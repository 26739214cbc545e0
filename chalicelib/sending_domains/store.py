"""Store sending domains.

Names are in their canonical spelling (``core.domain_names``). A write that replaces or deletes a
domain is conditional on the ``revision`` that was read; it raises ``WriteConflict`` if another
writer came first. Claims on names are in ``claims``, further DKIM keys in ``further_keys.store``.

Access patterns of ``config``:

- one domain of any owner → ``domain#<name>`` / ``domain`` (one that can be used is cached for
  ``KEY_CACHE_SECONDS`` where mail is accepted and generated)
- all domains of an account → ``account#<account>/domains`` [by_owner]
- the domains of one owner, by name → ``account#<account>/domains`` / ``<owner>#*`` [by_owner]
- the default bounce domain of an owner → ``default#bounce-domain#<account>`` / ``<subaccount>``
  (``core.defaults``)
- the domains whose DNS records are to be checked again → ``due#sending-domains`` / ``<ms>#<name>``
  (``core.due``)
- the deleted domains whose SES identities are to be deleted → ``due#ses-identities`` /
  ``<ms>#<name>`` (``core.due``)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, NotRequired, cast

from chalicelib.core import audit, clock, config_cache, defaults, due, dynamo
from chalicelib.core.config_cache import Key
from chalicelib.core.domain_names import canonical, is_within, normalize, parents
from chalicelib.core.due import Due
from chalicelib.core.dynamo import Attributes, Table, TransactionFailed, Write, attributes_of
from chalicelib.core.owner_keys import (
    OwnedKeys,
    account_partition,
    owned_items,
    owner_digits,
    owner_prefix,
)
from chalicelib.core.scope import PRIMARY, SYSTEM_ACCOUNT, Scope
from chalicelib.dkim.model import DkimKey
from chalicelib.domain_claims import store as claims
from chalicelib.sending_domains.model import (
    DomainStatus,
    MailedToken,
    SendingDomain,
    SesStatus,
    shown_fields,
)
from chalicelib.sending_domains.ses_identities.schedule import is_wanted

CONCERN = "sending-domains"
DELETED_IDENTITIES = "ses-identities"
BOUNCE = "bounce-domain"
RESOURCE = "sending-domains"


class TokenFields(Attributes):
    """The fields of a ``MailedToken``."""

    digest: str
    #: In seconds
    expires: float
    #: Version 0.1.0 did not write it
    local_part: NotRequired[str]


class SendingDomainItem(OwnedKeys):
    """A sending domain: the fields of ``SendingDomain``."""

    domain: str
    account_id: int
    #: In seconds
    created: float
    #: The fields of ``DomainStatus``
    status: dict[str, Any]
    #: The fields of ``DkimKey``
    dkim: dict[str, Any] | None
    subaccount_id: int | None
    tracking_domain: str
    shared_with_subaccounts: bool
    is_default_bounce_domain: bool
    delegated: bool
    #: By kind of mailbox
    tokens: dict[str, TokenFields]
    #: In seconds, 0 for a verified domain
    unverified_since: float
    #: When its next check is due, 0 for never
    check_ms: int
    #: The fields of ``SesStatus``; missing where mail never left by Amazon SES
    ses: NotRequired[dict[str, Any] | None]
    revision: int
    #: The registered domains above it
    parents: list[str]


_config: Table[SendingDomainItem] = Table("config")
_FIELDS = tuple(SendingDomain.__slots__)


def key_of(domain: str) -> Key:
    """Return the key of the domain; text that is no domain name has the key of no item."""
    return (_pk(normalize(domain) or "-"), "domain")


def get(domain: str) -> SendingDomain | None:
    """Return the domain of any owner, or ``None``."""
    item = _config.get(*key_of(domain))
    return from_item(item) if item else None


def find(scope: Scope, domain: str) -> SendingDomain | None:
    """Return the domain if it belongs to the scope, or ``None``."""
    sending_domain = get(domain)
    return sending_domain if sending_domain and sending_domain.belongs_to(scope) else None


def create(domain: SendingDomain, also: Sequence[Write] = ()) -> bool:
    """Store a new domain; return ``False`` if its account may not have the name.

    Raises ``WriteConflict`` if only one of the writes ``also``, of the same transaction, fails.
    """
    name = canonical(domain.domain)
    domain = replace(domain, domain=name, parents=_claimed_parents(name, domain.account_id))
    writes = [
        dynamo.put(_config, _to_item(domain), condition="attribute_not_exists(#pk)"),
        *claims.claim_writes(name, domain.parents, domain.account_id),
        *_due_writes(domain),
    ]
    if domain.is_default_bounce_domain:
        writes.append(_default(domain, former=None))
    try:
        dynamo.transact([*writes, *also, *_line(None, domain)])
    except TransactionFailed as failure:
        if min(failure.failed) >= len(writes):
            raise
        return False
    return True


def save(before: SendingDomain, after: SendingDomain, *more: Write) -> None:
    """Replace ``before`` by ``after``, together with further writes; raises ``WriteConflict``."""
    after = replace(after, revision=before.revision + 1)
    writes = [
        dynamo.put(
            _config,
            _to_item(after),
            **dynamo.if_unchanged("revision", before.revision),
        ),
        *more,
    ]
    if after.check_ms != before.check_ms:
        writes += _due_writes(after)
    if before.is_default_bounce_domain and not after.is_default_bounce_domain:
        writes.append(_no_default(before))
    dynamo.transact([*writes, *_line(before, after)])
    config_cache.forget(key_of(after.domain))
    if after.check_ms != before.check_ms:
        _forget_due(before)


def change(domain: str, edit: Callable[[SendingDomain], SendingDomain]) -> SendingDomain | None:
    """Change a domain by ``edit`` and return it; return ``None`` if there is no such domain.

    ``edit`` may be called again if another writer changes the domain meanwhile; what it raises
    passes through. Raises 503 when other writers come first every time.
    """
    return dynamo.update_record(lambda: get(domain), edit, save)


def make_default(domain: SendingDomain, after: SendingDomain, *more: Write) -> None:
    """Replace ``domain`` by ``after`` and make it its owner's default bounce domain.

    The former default is one no longer. Raises ``WriteConflict``.
    """
    former = defaults.of_owner(BOUNCE, domain.account_id, domain.subaccount_id)
    writes = [_default(domain, former)]
    if former and former != domain.domain and (other := get(former)):
        writes.append(_no_longer_default(other))
    save(domain, replace(after, is_default_bounce_domain=True), *writes, *more)


def delete(domain: SendingDomain, *also: Write) -> None:
    """Delete the domain as it was read; raises ``WriteConflict`` if it has changed since.

    ``also`` are writes of the same transaction: those that delete its further keys
    (``further_keys.store.deletion``).
    """
    writes = [
        dynamo.delete(
            _config,
            _pk(domain.domain),
            "domain",
            **dynamo.if_unchanged("revision", domain.revision),
        ),
        *claims.release_writes(domain.domain, domain.parents, domain.account_id),
        *also,
    ]
    if domain.is_default_bounce_domain:
        writes.append(_no_default(domain))
    if domain.ses or is_wanted():
        writes.append(due.addition(Due(DELETED_IDENTITIES, clock.now_ms(), domain.domain)))
    dynamo.transact([*writes, *_line(domain, None)])
    config_cache.forget(key_of(domain.domain))
    _forget_due(domain)


def free_names_above(domain: SendingDomain) -> None:
    """Let any account register the names above the service's own domain.

    Version 0.1.0 kept them from everybody else (goes with 0.3.0).
    """
    if not domain.parents:
        return
    after = replace(domain, parents=(), revision=domain.revision + 1)
    dynamo.transact(
        [
            dynamo.put(
                _config, _to_item(after), **dynamo.if_unchanged("revision", domain.revision)
            ),
            *claims.releases_above(domain.parents, domain.account_id),
        ]
    )
    config_cache.forget(key_of(domain.domain))


def _claimed_parents(name: str, account_id: int) -> tuple[str, ...]:
    """Return the names above a domain that no other account may register.

    The service's own domain is often below one from which its operator sends.
    """
    return () if account_id == SYSTEM_ACCOUNT else parents(name)


def in_scope(scope: Scope) -> Iterator[SendingDomain]:
    """Yield the domains of the scope, those of one owner by name."""
    prefix = owner_prefix(scope, "#")
    return map(from_item, owned_items(_config, scope.account_id, "domains", prefix))


def readable_in(scope: Scope) -> Iterator[SendingDomain]:
    """Yield the domains of the scope, and those that the primary account shares with it."""
    yield from in_scope(scope)
    if scope.owner is not None:
        primary = in_scope(Scope(scope.account_id, PRIMARY))
        yield from (domain for domain in primary if domain.shared_with_subaccounts)


def within(name: str) -> Iterator[SendingDomain]:
    """Yield the domains at and below ``name``, of any owner."""
    for account_id in claims.accounts_within(name):
        for domain in in_scope(Scope(account_id, None)):
            if is_within(domain.domain, name):
                yield domain


def due_entry(domain: SendingDomain) -> Due:
    """Return the entry under which the domain's next check is due."""
    return Due(CONCERN, domain.check_ms, domain.domain)


def touching(domain: SendingDomain) -> Write:
    """Return the write that fails if the domain has changed since it was read."""
    return dynamo.update(
        _config,
        _pk(domain.domain),
        "domain",
        "SET #revision = :next",
        values={"next": domain.revision + 1, "revision": domain.revision},
        condition="#revision = :revision",
    )


def _due_writes(domain: SendingDomain) -> list[Write]:
    return [due.addition(due_entry(domain))] if domain.check_ms else []


def _forget_due(domain: SendingDomain) -> None:
    if domain.check_ms:
        due.remove(due_entry(domain))


_line: audit.RecordLines[SendingDomain] = audit.RecordLines(
    RESOURCE, lambda each: each.domain, shown_fields
)


def _default(domain: SendingDomain, former: str | None) -> Write:
    owner = (domain.account_id, domain.subaccount_id)
    return defaults.setting(BOUNCE, *owner, domain.domain, former)


def _no_default(domain: SendingDomain) -> Write:
    return defaults.clearing(BOUNCE, domain.account_id, domain.subaccount_id, domain.domain)


def _no_longer_default(domain: SendingDomain) -> Write:
    return dynamo.update(
        _config,
        _pk(domain.domain),
        "domain",
        "SET #is_default_bounce_domain = :no, #revision = :next",
        values={"no": False, "next": domain.revision + 1, "revision": domain.revision},
        condition="#revision = :revision",
    )


def _pk(name: str) -> str:
    return f"domain#{name}"


def _to_item(domain: SendingDomain) -> SendingDomainItem:
    keys: OwnedKeys = {
        "pk": _pk(domain.domain),
        "sk": "domain",
        "owner": account_partition(domain.account_id, "domains"),
        "owner_key": f"{owner_digits(domain.subaccount_id)}#{domain.domain}",
    }
    return cast(SendingDomainItem, {**asdict(domain), **keys})


def from_item(item: SendingDomainItem) -> SendingDomain:
    """Return the domain in an item of the table."""
    fields = attributes_of(item, _FIELDS)
    return SendingDomain(
        **fields
        | {
            "status": DomainStatus(**item["status"]),
            "dkim": DkimKey(**item["dkim"]) if item["dkim"] else None,
            "tokens": {name: MailedToken(**token) for name, token in item["tokens"].items()},
            "ses": SesStatus(**ses) if (ses := item.get("ses")) else None,
            "parents": tuple(item["parents"]),
        }
    )
