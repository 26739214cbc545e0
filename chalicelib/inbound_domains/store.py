"""Store inbound domains.

Names are in their canonical spelling (``core.domain_names``). Every write is conditional on the
``revision`` that it was made from.

Access patterns of ``config``:

- one domain of any owner → ``inbound-domain#<name>`` / ``domain`` (cached for
  ``KEY_CACHE_SECONDS`` where mail is received)
- all domains of an account → ``account#<account>/inbound-domains`` [by_owner]
- the domains of one owner, by name → ``account#<account>/inbound-domains`` / ``<owner>#*``
  [by_owner]
- the domains whose MX records are to be checked again → ``due#inbound-domains`` / ``<ms>#<name>``
  (``core.due``)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, cast

from chalicelib.core import audit, config_cache, due, dynamo
from chalicelib.core.domain_names import normalize
from chalicelib.core.due import Due
from chalicelib.core.dynamo import Key, Table, TransactionFailed, Write, attributes_of
from chalicelib.core.owner_keys import (
    OwnedKeys,
    account_partition,
    owned_items,
    owner_digits,
    owner_prefix,
)
from chalicelib.core.request import Actor
from chalicelib.core.scope import Scope
from chalicelib.inbound_domains.model import Action, InboundDomain, MailRoute, shown_fields

CONCERN = "inbound-domains"
RESOURCE = "inbound-domains"


class InboundDomainItem(OwnedKeys):
    """An inbound domain: the fields of ``InboundDomain``."""

    domain: str
    account_id: int
    created_ms: int
    subaccount_id: int | None
    #: Empty without one
    relay_webhook_id: str
    #: The fields of ``MailRoute``, in their order
    routes: list[dict[str, Any]]
    mx_status: str
    mx_checked_ms: int | None
    mx_records: list[str]
    mx_error: str
    #: When its next check is due
    check_ms: int
    revision: int


_config: Table[InboundDomainItem] = Table("config")
_FIELDS = tuple(InboundDomain.__slots__)


def key_of(domain: str) -> Key:
    """Return the key of the domain; text that is no domain name has the key of no item."""
    return (_pk(normalize(domain) or "-"), "domain")


def get(domain: str) -> InboundDomain | None:
    """Return the domain of any owner, or ``None``."""
    item = _config.get(*key_of(domain))
    return from_item(item) if item else None


def find(scope: Scope, domain: str) -> InboundDomain | None:
    """Return the domain if it belongs to the scope, or ``None``."""
    inbound_domain = get(domain)
    if inbound_domain is None or inbound_domain.account_id != scope.account_id:
        return None
    return inbound_domain if scope.covers(inbound_domain.subaccount_id) else None


def in_scope(scope: Scope) -> Iterator[InboundDomain]:
    """Yield the domains of the scope, those of one owner by name."""
    prefix = owner_prefix(scope, "#")
    return map(from_item, owned_items(_config, scope.account_id, RESOURCE, prefix))


def of_account(account_id: int) -> Iterator[InboundDomain]:
    """Yield all domains of an account, those of one owner by name."""
    return in_scope(Scope(account_id, None))


def create(
    domain: InboundDomain, also: Sequence[Write] = (), *, former: InboundDomain | None = None
) -> bool:
    """Store a new domain; return ``False`` if the name is in use.

    ``former`` is the record of an owner who has lost the name: it is replaced. Raises
    ``WriteConflict`` if only one of the writes ``also``, of the same transaction, fails.
    """
    condition: dict[str, Any] = {"condition": "attribute_not_exists(#pk)"}
    if former:
        condition = dynamo.if_unchanged("revision", former.revision)
        domain = replace(domain, revision=former.revision + 1)
    new = dynamo.put(_config, _to_item(domain), **condition)
    lines = [*_line(None, domain), *(_line_of_loss(former) if former else ())]
    try:
        dynamo.transact([new, *_due_writes(domain), *also, *lines])
    except TransactionFailed as failure:
        if 0 not in failure.failed:
            raise
        return False
    finally:
        forget(domain)
    if former:
        _forget_due(former)
    return True


def change(
    scope: Scope, domain: str, edit: Callable[[InboundDomain], InboundDomain]
) -> InboundDomain | None:
    """Change a domain by ``edit`` and return it; return ``None`` if the scope has no such domain.

    ``edit`` may be called again if another writer changes the domain meanwhile; what it raises
    passes through. Raises 503 when other writers come first every time.
    """
    return dynamo.update_record(lambda: find(scope, domain), edit, save)


def save(before: InboundDomain, after: InboundDomain) -> None:
    """Replace ``before`` by ``after``; raises ``WriteConflict``."""
    has_moved = after.check_ms != before.check_ms
    write = dynamo.put(
        _config,
        _to_item(replace(after, revision=before.revision + 1)),
        **dynamo.if_unchanged("revision", before.revision),
    )
    also = _due_writes(after) if has_moved else []
    dynamo.transact([write, *also, *_line(before, after)])
    forget(after)
    if has_moved:
        _forget_due(before)


def delete(
    scope: Scope, domain: str, check: Callable[[InboundDomain], None] = lambda _: None
) -> bool:
    """Delete a domain; return ``False`` if the scope has no such domain.

    ``check`` may raise what refuses it.
    """

    def attempt() -> bool:
        before = find(scope, domain)
        if before is None:
            return False
        check(before)
        deletion = dynamo.delete(
            _config,
            *key_of(before.domain),
            **dynamo.if_unchanged("revision", before.revision),
        )
        dynamo.transact([deletion, *_line(before, None)])
        forget(before)
        _forget_due(before)
        return True

    return dynamo.retry_conflicts(attempt)


def relay_webhook_write(domain: InboundDomain, webhook_id: str) -> Write:
    """Return the write that sets the relay webhook of a domain, or with ``""`` takes it away.

    It fails if the domain has changed since it was read. Whoever applies it calls :func:`forget`
    afterwards.
    """
    return dynamo.update(
        _config,
        *key_of(domain.domain),
        "SET #relay_webhook_id = :webhook, #revision = :next",
        values={
            "webhook": webhook_id,
            "next": domain.revision + 1,
            "revision": domain.revision,
        },
        condition="#revision = :revision",
    )


def forget(domain: InboundDomain) -> None:
    """Let this process read a domain again that has changed."""
    config_cache.forget(key_of(domain.domain))


def due_entry(domain: InboundDomain) -> Due:
    """Return the entry under which the domain's next check is due."""
    return Due(CONCERN, domain.check_ms, domain.domain)


def from_item(item: InboundDomainItem) -> InboundDomain:
    """Return the domain in an item of the table."""
    fields = attributes_of(item, _FIELDS)
    return InboundDomain(
        **fields
        | {
            "routes": tuple(_route(each) for each in item["routes"]),
            "mx_records": tuple(item["mx_records"]),
        }
    )


def _route(fields: dict[str, Any]) -> MailRoute:
    return MailRoute(**fields | {"action": Action(fields["action"])})


def _due_writes(domain: InboundDomain) -> list[Write]:
    return [due.addition(due_entry(domain))] if domain.check_ms else []


def _forget_due(domain: InboundDomain) -> None:
    if domain.check_ms:
        due.remove(due_entry(domain))


_line: audit.RecordLines[InboundDomain] = audit.RecordLines(
    RESOURCE, lambda each: each.domain, shown_fields
)


def _line_of_loss(former: InboundDomain) -> list[Write]:
    """Return the line for the account that loses a domain; it does not tell to whom."""
    author = audit.author()
    if author is None:
        return []
    author = replace(
        author,
        account_id=former.account_id,
        subaccount_id=former.subaccount_id,
        actor=Actor("operator", "", "another account has proved that the domain is its own"),
        action="DELETE",
        path=f"/api/v1/{RESOURCE}/{former.domain}",
        ip="",
        request_id="",
    )
    return audit.line(former.domain, shown_fields(former), None, resource=RESOURCE, of=author)


def _pk(name: str) -> str:
    return f"inbound-domain#{name}"


def _to_item(domain: InboundDomain) -> InboundDomainItem:
    pk, sk = key_of(domain.domain)
    keys: OwnedKeys = {
        "pk": pk,
        "sk": sk,
        "owner": account_partition(domain.account_id, RESOURCE),
        "owner_key": f"{owner_digits(domain.subaccount_id)}#{domain.domain}",
    }
    routes = [asdict(each) | {"action": each.action.value} for each in domain.routes]
    return cast(InboundDomainItem, {**asdict(domain), "routes": routes, **keys})
