"""Store users, each with an item that takes its address, and count the active administrators.

Access patterns of ``config``:

- one user, by id → ``user#<id>`` / ``user`` (with a session it is cached for
  ``KEY_CACHE_SECONDS``)
- the user of an address → ``email#<address in its one spelling>`` / ``user``
- the user of a subject of single sign-on →
  ``identity#<provider>#<SHA-256 of the subject>`` / ``user``
- the users of an account, by time → ``account#<account>/users`` / ``<ms, 13 digits>#<id>``
  [by_owner]
- how many active administrators an account has → ``account#<account>/administrators`` / ``count``
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NotRequired, cast

from chalicelib.core import audit, config_cache, dynamo
from chalicelib.core.config_cache import Key
from chalicelib.core.dynamo import (
    Attributes,
    ConditionFailed,
    Keyed,
    Table,
    TransactionFailed,
    Write,
)
from chalicelib.core.errors import conflict
from chalicelib.core.owner_keys import OwnedKeys, account_partition, owned_items
from chalicelib.core.scope import Scope
from chalicelib.users.model import (
    MailedLink,
    Passkey,
    User,
    address_spelling,
    digest,
    shown_fields,
)

RESOURCE = "users"


class MailedLinkFields(Attributes):
    """A mailed link that still works."""

    digest: str
    expires: float


class UserItem(OwnedKeys):
    """A user: the fields of ``User``; its times are seconds."""

    id: str
    account_id: int
    email: str
    role: str
    created: float
    name: str
    status: str
    subaccount_id: NotRequired[int | None]
    grants: list[str]
    password: str
    totp: bytes
    totp_step: int
    totp_pending: bytes
    recovery: list[str]
    #: The fields of ``Passkey``
    passkeys: list[dict[str, Any]]
    identities: dict[str, str]
    invitation: MailedLinkFields | None
    reset: MailedLinkFields | None
    last_sign_in: float | None
    stamp: str
    revision: str


class AddressItem(Keyed):
    """The user that an address belongs to."""

    user_id: str


class IdentityItem(Keyed):
    """The user who signs in as a subject of a provider; the user names the subject, too."""

    user_id: str


class AdministratorsItem(Keyed):
    """How many active administrators an account has."""

    count: int


_users: Table[UserItem] = Table("config")
_addresses: Table[AddressItem] = Table("config")
_identities: Table[IdentityItem] = Table("config")
_administrators: Table[AdministratorsItem] = Table("config")
#: The id of no user
_NOBODY = "nobody"
_NOT_FIELDS = ("pk", "sk", "owner", "owner_key")


def key_of(user_id: str) -> Key:
    """Return the key of a user."""
    return (f"user#{user_id}", "user")


def administrators_key(account_id: int) -> Key:
    """Return the key of the number of an account's active administrators."""
    return (account_partition(account_id, "administrators"), "count")


def get(user_id: str) -> User | None:
    """Return the user, or ``None``."""
    item = _users.get(*key_of(user_id))
    return from_item(item) if item else None


def find(scope: Scope, user_id: str) -> User | None:
    """Return the user if it belongs to the account, and to the subaccount where one is named."""
    user = get(user_id)
    if user is None or user.account_id != scope.account_id:
        return None
    return user if scope.owner in (None, user.subaccount_id) else None


def by_address(email: str) -> User | None:
    """Return the user with an address, in any case of its letters.

    It costs two requests for every address, so that no time tells which one has a user.
    """
    address = _addresses.get(*_address_key(email))
    return get(address["user_id"] if address else _NOBODY)


def labels(ids: Iterable[str]) -> dict[str, str]:
    """Return what each user is called in the audit log: its address, or a pseudonym if erased."""
    names = list(dict.fromkeys(ids))
    emails = {item["id"]: item["email"] for item in _users.get_all(map(key_of, names))}
    return {name: emails.get(name) or pseudonym(name) for name in names}


def pseudonym(user_id: str) -> str:
    """Return what an erased user is called."""
    return f"user {user_id[:8]}"


def by_identity(provider_id: str, subject: str) -> User | None:
    """Return the user who signs in as a subject of a provider."""
    identity = _identities.get(*_identity_key(provider_id, subject))
    user = get(identity["user_id"]) if identity else None
    return user if user and user.identities.get(provider_id) == subject else None


def of_account(account_id: int) -> list[User]:
    """Return the users of an account, oldest first."""
    return [from_item(item) for item in owned_items(_users, account_id, RESOURCE)]


def in_scope(scope: Scope) -> list[User]:
    """Return the users of an account, or those tied to the subaccount in scope, oldest first."""
    present = of_account(scope.account_id)
    return [user for user in present if scope.owner in (None, user.subaccount_id)]


def count_administrators(account_id: int) -> int:
    """Return how many administrators of an account can sign in."""
    item = _administrators.get(*administrators_key(account_id))
    return int(item["count"]) if item else 0


def count(account_id: int) -> int:
    """Return how many users an account has."""
    return sum(1 for _ in owned_items(_users, account_id, RESOURCE))


def create(user: User) -> bool:
    """Store a new user; return ``False`` if its address belongs to a user already."""
    user = replace(user, revision=dynamo.draw_revision())
    pk, sk = _address_key(user.email)
    address: AddressItem = {"pk": pk, "sk": sk, "user_id": user.id}
    new = "attribute_not_exists(#pk)"
    return dynamo.try_transact(
        [
            dynamo.put(_users, _to_item(user), condition=new),
            dynamo.put(_addresses, address, condition=new),
            *_counted(user.account_id, 0, int(user.is_administrator)),
            *_identified(user.id, {}, user.identities),
            *line(None, user),
        ]
    )


def change(user_id: str, edit: Callable[[User], User], *, silent: bool = False) -> User | None:
    """Change a user by ``edit`` and return it; ``None`` if there is no such user.

    ``edit`` may raise and may be called again. With ``silent`` there is no line in the audit log,
    for what a user does not change, such as the time of its last sign-in. Raises 409 where the
    account would be left without an active administrator.
    """

    def write(before: User, after: User) -> None:
        after = replace(after, revision=dynamo.draw_revision())
        record = dynamo.put(
            _users, _to_item(after), **dynamo.if_unchanged("revision", before.revision)
        )
        count_writes = _counted(
            before.account_id, int(before.is_administrator), int(after.is_administrator)
        )
        identified = _identified(before.id, before.identities, after.identities)
        lines = [] if silent else line(before, after)
        _transact([record, *count_writes, *identified, *lines], bool(count_writes))

    try:
        return dynamo.update_record(lambda: get(user_id), edit, write)
    finally:
        config_cache.forget(key_of(user_id))


def mark_sign_in(user: User, now: float) -> User | None:
    """Note the time of a user's last sign-in; return the user as it is now.

    Returns ``None`` if the user is gone, or has another stamp than when it proved who it is: a
    password that was changed meanwhile begins no session.
    """
    key, expression = key_of(user.id), "SET #last_sign_in = :now"
    try:
        item = _users.update(
            *key,
            expression,
            values={"now": now, "stamp": user.stamp},
            condition="#stamp = :stamp",
        )
    except ConditionFailed:
        return None
    finally:
        config_cache.forget(key)
    return from_item(item)


def delete(user: User, lines: Sequence[Write]) -> bool:
    """Delete a user and free its address; return ``False`` if it is gone already.

    Raises 409 for the last active administrator.
    """

    def attempt() -> bool:
        before = get(user.id)
        if before is None:
            return False
        unchanged = dynamo.if_unchanged("revision", before.revision)
        count_writes = _counted(before.account_id, int(before.is_administrator), 0)
        record = dynamo.delete(_users, *key_of(before.id), **unchanged)
        address = dynamo.delete(_addresses, *_address_key(before.email))
        identified = _identified(before.id, before.identities, {})
        _transact([record, *count_writes, address, *identified, *lines], bool(count_writes))
        return True

    try:
        return dynamo.retry_conflicts(attempt)
    finally:
        config_cache.forget(key_of(user.id))


line: audit.RecordLines[User] = audit.RecordLines(
    RESOURCE, lambda each: each.id, shown_fields, always=True
)
"""Return the line of the audit log about a change of a user."""


def from_item(item: UserItem) -> User:
    """Return the user that an item of the table holds."""
    fields: dict[str, Any] = {
        name: value for name, value in item.items() if name not in _NOT_FIELDS
    }
    for name in ("grants", "recovery"):
        fields[name] = tuple(fields[name])
    for name in ("totp", "totp_pending"):
        fields[name] = bytes(fields[name])
    for name in ("invitation", "reset"):
        fields[name] = MailedLink(**fields[name]) if fields[name] else None
    fields["passkeys"] = tuple(Passkey(**each) for each in fields["passkeys"])
    return User(**fields)


def _to_item(user: User) -> UserItem:
    pk, sk = key_of(user.id)
    keys = {
        "pk": pk,
        "sk": sk,
        "owner": account_partition(user.account_id, RESOURCE),
        "owner_key": f"{int(user.created * 1000):013d}#{user.id}",
    }
    return cast(UserItem, keys | asdict(user))


def _address_key(email: str) -> Key:
    return (f"email#{address_spelling(email)}", "user")


def _identity_key(provider_id: str, subject: str) -> Key:
    return (f"identity#{provider_id}#{digest(subject)}", "user")


def _identified(user_id: str, before: Mapping[str, str], after: Mapping[str, str]) -> list[Write]:
    """Return the actions that find a user by the subjects that it has now, and only by these."""
    former, present = before.items() - after.items(), after.items() - before.items()
    removals = [dynamo.delete(_identities, *_identity_key(*each)) for each in sorted(former)]
    items: list[IdentityItem] = [
        {"pk": pk, "sk": sk, "user_id": user_id}
        for pk, sk in (_identity_key(*each) for each in sorted(present))
    ]
    return [*removals, *(dynamo.put(_identities, item) for item in items)]


def _counted(account_id: int, before: int, after: int) -> list[Write]:
    """Return the action that counts active administrators; the last one cannot be taken away."""
    if before == after:
        return []
    return [
        dynamo.update(
            _administrators,
            *administrators_key(account_id),
            "ADD #count :step",
            values={"step": after - before} | ({"one": 1} if after < before else {}),
            condition="#count > :one" if after < before else "",
        )
    ]


def _transact(writes: list[Write], is_counted: bool) -> None:
    """Apply the actions, of which the second may count administrators; raises 409 for the last."""
    try:
        dynamo.transact(writes)
    except TransactionFailed as failure:
        if is_counted and failure.failed == [1]:
            raise conflict(
                "the account needs an administrator",
                description="the last active administrator cannot be removed, disabled or demoted",
            ) from None
        raise
