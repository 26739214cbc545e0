"""Store the further DKIM keys of sending domains.

Selectors are compared without case, as the DNS does. A write that adds, replaces or deletes a key
is conditional on the domain's revision, so concurrent writes cannot exceed the limit or take the
domain's own selector; it raises ``WriteConflict`` if another writer came first. Keys are deleted
with their domain.

Access patterns of ``config``:

- the key with a selector, to sign with it → ``domain#<name>`` / ``dkim#<selector>``
- the selector of the key with an id → ``domain#<name>`` / ``dkim-id#<key id>``
- all keys of a domain → ``domain#<name>`` / ``dkim#*``
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from chalicelib.core import audit, dynamo
from chalicelib.core.dynamo import Keyed, Table, TransactionFailed, Write
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains.further_keys.model import FurtherKey, shown_fields
from chalicelib.sending_domains.model import SendingDomain
from chalicelib.sending_domains.store import RESOURCE, touching


class FurtherKeyItem(Keyed):
    """A further DKIM key of a sending domain."""

    id: str
    #: The fields of ``DkimKey``
    key: dict[str, Any]
    #: In seconds
    created: float
    status: str


class FurtherKeyIdItem(Keyed):
    """The id of a further DKIM key."""

    #: The sort key of its item
    key: str


_config: Table[FurtherKeyItem] = Table("config")
_ids: Table[FurtherKeyIdItem] = Table("config")
_KEY, _POINTER = "dkim#", "dkim-id#"

# Of the 100 writes that a transaction may have, a domain's deletion needs at most 35: one for each
# of the 30 parents of its name, four of its own, and the line of the audit log
_MOST_AT_ONCE = 65


def of_domain(domain: str) -> list[FurtherKey]:
    """Return the keys of a domain by id."""
    items = _config.query_all(
        "#pk = :pk AND begins_with(#sk, :kind)",
        {"pk": _pk(domain), "kind": _KEY},
        consistent=True,
    )
    return sorted(map(_from_item, items), key=lambda further: further.id)


def get(domain: str, key_id: str) -> FurtherKey | None:
    """Return the key with this id, or ``None``."""
    pointer = _ids.get(_pk(domain), _POINTER + key_id)
    item = _config.get(_pk(domain), pointer["key"]) if pointer else None
    return _from_item(item) if item else None


def find(domain: str, name: str) -> FurtherKey | None:
    """Return the key whose selector, or else whose id, is ``name``."""
    keys = [(_pk(domain), _sk(name)), (_pk(domain), _POINTER + name)]
    items = {item["sk"]: item for item in _config.get_all(keys)}
    if _sk(name) in items:
        return _from_item(items[_sk(name)])
    return get(domain, name) if items else None


def add(domain: SendingDomain, key: FurtherKey) -> None:
    """Store a new key.

    Raises ``WriteConflict`` if its id or selector is taken or the domain has changed.
    """
    name = domain.domain
    dynamo.transact(
        [
            touching(domain),
            _put_key(name, key, new=True),
            _put_pointer(name, key, new=True),
            *_line(domain, None, key),
        ]
    )


def replace_key(domain: SendingDomain, before: FurtherKey, after: FurtherKey) -> None:
    """Replace a key by ``after``, which has the same id.

    A key whose selector has changed is moved. Raises ``WriteConflict`` as :func:`add` does.
    """
    name = domain.domain
    if _sk(before.key.selector) == _sk(after.key.selector):
        writes = [_put_key(name, after, new=False)]
    else:
        writes = [
            dynamo.delete(_config, _pk(name), _sk(before.key.selector)),
            _put_key(name, after, new=True),
            _put_pointer(name, after, new=False),
        ]
    dynamo.transact([touching(domain), *writes, *_line(domain, before, after)])


def set_status(domain: SendingDomain, checked: FurtherKey, status: str) -> FurtherKey | None:
    """Store what the DNS said about a key; ``None`` if the key has been replaced since."""
    update = dynamo.update(
        _config,
        _pk(domain.domain),
        _sk(checked.key.selector),
        "SET #status = :status",
        values={
            "status": status,
            "id": checked.id,
            "public": checked.key.public,
            "signing_domain": checked.key.signing_domain,
        },
        condition="#id = :id AND #key.#public = :public AND #key.#signing_domain = :signing_domain",
    )
    after = replace(checked, status=status)
    try:
        audit.commit(update, _line(domain, checked, after))
    except TransactionFailed:
        return None
    return after


def remove(domain: SendingDomain, key: FurtherKey) -> None:
    """Delete a key; raises ``WriteConflict`` if the domain has changed."""
    pk = _pk(domain.domain)
    dynamo.transact(
        [
            touching(domain),
            dynamo.delete(_config, pk, _sk(key.key.selector)),
            dynamo.delete(_ids, pk, _POINTER + key.id),
            *_line(domain, key, None),
        ]
    )


def deletion(domain: str) -> list[Write]:
    """Return the writes that delete a domain's keys, for the transaction that deletes the domain.

    Of very many keys, those that have no place in one transaction are deleted at once.
    """
    keys = [
        (_pk(domain), sk)
        for further in of_domain(domain)
        for sk in (_sk(further.key.selector), _POINTER + further.id)
    ]
    if surplus := keys[_MOST_AT_ONCE:]:
        _config.write_all([], delete=surplus)
    return [dynamo.delete(_config, *key) for key in keys[:_MOST_AT_ONCE]]


def _line(
    domain: SendingDomain, before: FurtherKey | None, after: FurtherKey | None
) -> list[Write]:
    """Return the line of the audit log about a change of a key: it is one of its domain."""
    return audit.change_line(
        domain.domain,
        {"dkim_keys": [shown_fields(before)] if before else []},
        {"dkim_keys": [shown_fields(after)] if after else []},
        resource=RESOURCE,
        subaccount_id=domain.subaccount_id,
    )


def _put_key(domain: str, key: FurtherKey, *, new: bool) -> Write:
    item: FurtherKeyItem = {
        "pk": _pk(domain),
        "sk": _sk(key.key.selector),
        "id": key.id,
        "key": asdict(key.key),
        "created": key.created,
        "status": key.status,
    }
    existence = "attribute_not_exists(#pk)" if new else "attribute_exists(#pk)"
    return dynamo.put(_config, item, condition=existence)


def _put_pointer(domain: str, key: FurtherKey, *, new: bool) -> Write:
    item: FurtherKeyIdItem = {
        "pk": _pk(domain),
        "sk": _POINTER + key.id,
        "key": _sk(key.key.selector),
    }
    return dynamo.put(_ids, item, condition="attribute_not_exists(#pk)" if new else "")


def _pk(domain: str) -> str:
    return f"domain#{domain}"


def _sk(selector: str) -> str:
    return _KEY + selector.lower()


def _from_item(item: FurtherKeyItem) -> FurtherKey:
    return FurtherKey(item["id"], DkimKey(**item["key"]), item["created"], item["status"])
