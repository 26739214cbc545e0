"""Where the further DKIM keys of sending domains are kept.

Access patterns (table ``config``):

- the key with a selector → ``pk = domain#<name>``, ``sk = dkim#<selector>`` (the way of sending)
- the selector of the key with an id → the same ``pk``, ``sk = dkim-id#<id>``
- all keys of a domain → ``sk`` begins with ``dkim#``

Selectors are told apart as the DNS does, whatever their case. What adds a key or changes its
selector is conditional on the domain's revision, so that neither the limit nor the domain's own
selector can be overtaken. Keys go before their domain does.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from chalicelib.core import dynamo
from chalicelib.core.dynamo import ConditionFailed, Table, Write
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains.further_keys.model import FurtherKey
from chalicelib.sending_domains.model import SendingDomain
from chalicelib.sending_domains.store import touching

_config = Table("config")
_KEY, _POINTER = "dkim#", "dkim-id#"


def of_domain(domain: str) -> list[FurtherKey]:
    """Return the keys of a domain by id."""
    found = _config.query_all(
        "#pk = :pk AND begins_with(#sk, :kind)",
        {"pk": _pk(domain), "kind": _KEY},
        consistent=True,
    )
    return sorted(map(_from_item, found), key=lambda named: named.id)


def get(domain: str, key_id: str) -> FurtherKey | None:
    """Return the key with this id, or ``None``."""
    pointer = _config.get(_pk(domain), _POINTER + key_id)
    item = _config.get(_pk(domain), pointer["key"]) if pointer else None
    return _from_item(item) if item else None


def named(domain: str, name: str) -> FurtherKey | None:
    """Return the key whose selector, or else whose id, is ``name``."""
    keys = [(_pk(domain), _sk(name)), (_pk(domain), _POINTER + name)]
    found = {item["sk"]: item for item in _config.get_all(keys)}
    if _sk(name) in found:
        return _from_item(found[_sk(name)])
    return get(domain, name) if found else None


def add(domain: SendingDomain, key: FurtherKey) -> bool:
    """Store a new key; ``False`` if its id or selector is taken or the domain has changed."""
    at = domain.domain
    return dynamo.transacted(
        [touching(domain), _put_key(at, key, new=True), _put_pointer(at, key, new=True)]
    )


def put_in_place(domain: SendingDomain, before: FurtherKey, after: FurtherKey) -> bool:
    """Write ``after`` in place of ``before``, which has the same id; ``False`` as for :func:`add`.

    A key whose selector has changed is moved.
    """
    at = domain.domain
    if _sk(before.key.selector) == _sk(after.key.selector):
        return dynamo.transacted([touching(domain), _put_key(at, after, new=False)])
    return dynamo.transacted(
        [
            touching(domain),
            dynamo.delete(_config, _pk(at), _sk(before.key.selector)),
            _put_key(at, after, new=True),
            _put_pointer(at, after, new=False),
        ]
    )


def set_status(domain: str, checked: FurtherKey, status: str) -> FurtherKey | None:
    """Note what the DNS said of a key; ``None`` if it is another key by now."""
    try:
        item = _config.update(
            _pk(domain),
            _sk(checked.key.selector),
            "SET #status = :status",
            values={
                "status": status,
                "id": checked.id,
                "public": checked.key.public,
                "signing_domain": checked.key.signing_domain,
            },
            condition="#id = :id AND #key.#public = :public "
            "AND #key.#signing_domain = :signing_domain",
        )
    except ConditionFailed:
        return None
    return _from_item(item)


def remove(domain: SendingDomain, key: FurtherKey) -> bool:
    """Delete a key; ``False`` if the domain has changed."""
    at = _pk(domain.domain)
    return dynamo.transacted(
        [
            touching(domain),
            dynamo.delete(_config, at, _sk(key.key.selector)),
            dynamo.delete(_config, at, _POINTER + key.id),
        ]
    )


def clear(domain: str) -> None:
    """Delete all keys of a domain that is about to be deleted."""
    gone = [
        (_pk(domain), sk)
        for key in of_domain(domain)
        for sk in (_sk(key.key.selector), _POINTER + key.id)
    ]
    if gone:
        _config.write_all([], delete=gone)


def _put_key(domain: str, key: FurtherKey, *, new: bool) -> Write:
    item = asdict(key) | {"pk": _pk(domain), "sk": _sk(key.key.selector)}
    existence = "attribute_not_exists(#pk)" if new else "attribute_exists(#pk)"
    return dynamo.put(_config, item, condition=existence)


def _put_pointer(domain: str, key: FurtherKey, *, new: bool) -> Write:
    item = {"pk": _pk(domain), "sk": _POINTER + key.id, "key": _sk(key.key.selector)}
    return dynamo.put(_config, item, condition="attribute_not_exists(#pk)" if new else "")


def _pk(domain: str) -> str:
    return f"domain#{domain}"


def _sk(selector: str) -> str:
    return _KEY + selector.lower()


def _from_item(item: dict[str, Any]) -> FurtherKey:
    return FurtherKey(item["id"], DkimKey(**item["key"]), item["created"], item["status"])
