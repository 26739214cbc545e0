"""Reserve names, so that a domain and everything below it belong to one account (spec 4.4).

Each registered name, and each name above one, has a claim: ``holder`` is the account that
registered the name itself, ``below`` counts the registered names below it and ``below_<account>``
those of one account. An account can register a name if nobody holds it, no other account holds a
name above it, and all names below it are its own. The conditions of the registering transaction
check this, so if two accounts register a name and its parent at the same time, one fails. Siblings
(``a.example.com``, ``b.example.com``) do not exclude each other. A ``blocked`` claim keeps the name
and all names below it from being registered.

Access patterns of ``config``:

- the claim on a name → ``domain#<name>`` / ``claim``
- the blocked names, in order → ``blocked-domains`` / ``<name>`` [by_owner]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NotRequired

from chalicelib.core import dynamo
from chalicelib.core.dynamo import ConditionFailed, Key, Keyed, Table, Write
from chalicelib.core.errors import (
    ApiError,
    domain_in_use,
    resource_conflict,
    restricted_domain,
)


class ClaimItem(Keyed):
    """The claim on a name; ``below_<account>`` counts the names below it of one account."""

    #: The account that registered the name itself
    holder: NotRequired[int]
    #: How many registered names are below it
    below: NotRequired[int]
    #: These three are there only if the operator has blocked the name
    blocked: NotRequired[bool]
    owner: NotRequired[str]
    owner_key: NotRequired[str]


_config: Table[ClaimItem] = Table("config")
_CLAIM = "claim"
_BLOCKED = "blocked-domains"
_COUNT = "below_"


def claim_writes(name: str, parents: Sequence[str], account_id: int) -> list[Write]:
    """Return the writes that claim ``name``; they fail if the account may not have it."""
    own_count = f"#{_COUNT}{account_id}"
    own = dynamo.update(
        _config,
        _pk(name),
        _CLAIM,
        "SET #holder = :account",
        values={"account": account_id, "none": 0},
        condition="attribute_not_exists(#holder) AND attribute_not_exists(#blocked) AND "
        f"(attribute_not_exists(#below) OR #below = :none OR #below = {own_count})",
    )
    above = [
        dynamo.update(
            _config,
            _pk(parent),
            _CLAIM,
            f"ADD #below :one, {own_count} :one",
            values={"account": account_id, "one": 1},
            condition="attribute_not_exists(#blocked) AND "
            "(attribute_not_exists(#holder) OR #holder = :account)",
        )
        for parent in parents
    ]
    return [own, *above]


def release_writes(name: str, parents: Sequence[str], account_id: int) -> list[Write]:
    """Return the writes that undo those of :func:`claim_writes`."""
    own = dynamo.update(
        _config,
        _pk(name),
        _CLAIM,
        "REMOVE #holder",
        values={"account": account_id},
        condition="#holder = :account",
    )
    return [own, *releases_above(parents, account_id)]


def releases_above(parents: Sequence[str], account_id: int) -> list[Write]:
    """Return the writes that count a name of the account no more in the names above it."""
    return [
        dynamo.update(
            _config,
            _pk(parent),
            _CLAIM,
            f"ADD #below :less, #{_COUNT}{account_id} :less",
            values={"less": -1},
        )
        for parent in parents
    ]


def refusal(name: str, parents: Sequence[str], account_id: int) -> ApiError:
    """Return the error that says why the account could not register the name."""
    names = [name, *parents]
    keys = [key_of(each) for each in names]
    items = {item["pk"]: item for item in _config.get_all(keys, consistent=True)}
    own = items.get(_pk(name))
    if own and own.get("holder") == account_id:
        text = f"Domain '{name}' is already registered"
        return resource_conflict(text)
    if any(item.get("blocked") for item in items.values()):
        return restricted(name)
    text = f"Another account has '{name}', a domain above it or one below it"
    return domain_in_use(text)


def restricted(name: str) -> ApiError:
    """Return 400 with code 7000 (spec 7)."""
    text = f"'{name}' cannot be used as a sending domain here"
    return restricted_domain(text)


def block(name: str) -> None:
    """Keep ``name`` and everything below it from being registered."""
    _config.update(
        _pk(name),
        _CLAIM,
        "SET #blocked = :yes, #owner = :owner, #owner_key = :name",
        values={"yes": True, "owner": _BLOCKED, "name": name},
    )


def unblock(name: str) -> bool:
    """Undo :func:`block`; return ``False`` if the name itself is not blocked."""
    try:
        _config.update(
            _pk(name),
            _CLAIM,
            "REMOVE #blocked, #owner, #owner_key",
            condition="attribute_exists(#blocked)",
        )
    except ConditionFailed:
        return False
    return True


def blocked_names() -> Iterator[str]:
    """Yield the names that are blocked themselves, in order."""
    items = _config.query_all("#owner = :owner", {"owner": _BLOCKED}, index="by_owner")
    return (item["owner_key"] for item in items)


def key_of(name: str) -> Key:
    """Return the key of the claim on a name."""
    return (_pk(name), _CLAIM)


def is_blocked(name: str, parents: Sequence[str]) -> bool:
    """Tell whether the name or one above it is blocked."""
    keys = [key_of(each) for each in (name, *parents)]
    return any(item.get("blocked") for item in _config.get_all(keys, consistent=True))


def accounts_within(name: str) -> set[int]:
    """Return the accounts that hold ``name`` or a name below it."""
    claim = _config.get(_pk(name), _CLAIM)
    if claim is None:
        return set()
    holders = {int(key.removeprefix(_COUNT)) for key, n in claim.items() if _is_count(key) and n}
    return holders | ({claim["holder"]} if "holder" in claim else set())


def _is_count(key: str) -> bool:
    return key.startswith(_COUNT)


def _pk(name: str) -> str:
    return f"domain#{name}"
