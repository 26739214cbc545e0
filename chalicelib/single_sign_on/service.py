"""Find the user whom a provider speaks of, or let one join; and give the role that it names.

1. The user who signed in as this subject of the provider before.
2. The user with the verified address. An invited one becomes active.
3. Who has a verified address in a domain of the provider joins its account.

The provider speaks for users of its own account only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chalicelib.core import addresses, audit, clock
from chalicelib.core.errors import ApiError
from chalicelib.core.identity_providers import IdentityProvider
from chalicelib.core.request import Actor, Request
from chalicelib.single_sign_on.model import NOT_INVITED, REFUSED, UNVERIFIED, SignInFailed
from chalicelib.users import invitations, roles
from chalicelib.users.model import ACTIVE, DISABLED, INVITED, User, draw_id, draw_secret
from chalicelib.users.request import MOST_NAME
from chalicelib.users.sign_in import RESOURCE, author_of
from chalicelib.users.store import users

#: How providers write that something is true
_TRUE = (True, 1, "true", "1")


def user_of(provider: IdentityProvider, claims: Mapping[str, Any], request: Request) -> User:
    """Return the active user whom the claims of a valid ID token are about.

    Raises :class:`SignInFailed`, which is then in the audit log of the account.
    """
    try:
        return _user_of(provider, claims, request)
    except SignInFailed as failure:
        _note(provider, failure, request)
        raise


def shows_second_factor(provider: IdentityProvider, claims: Mapping[str, Any]) -> bool:
    """Tell whether the provider has checked a second factor, and is trusted to say so."""
    methods = claims.get("amr")
    trusted = provider.trust_second_factor
    has_method = isinstance(methods, list) and any(each in trusted.amr for each in methods)
    return has_method or claims.get("acr") in trusted.acr


def _user_of(provider: IdentityProvider, claims: Mapping[str, Any], request: Request) -> User:
    role = _role(provider, claims)
    user = users.by_identity(provider.id, claims["sub"])
    if user is None:
        email = _verified_address(provider, claims)
        user = users.by_address(email)
        if user is None:
            return _join(provider, claims, email, role, request)
    if user.account_id != provider.account:
        raise SignInFailed(NOT_INVITED, f"{provider.id}: user {user.id} is of another account")
    _check_role(provider, role, user.id)
    with audit.bound(author_of(user, request, users.RESOURCE)):
        return _with_role(_link(provider, claims, user), role)


def _join(
    provider: IdentityProvider,
    claims: Mapping[str, Any],
    email: str,
    role: str,
    request: Request,
) -> User:
    own_role = provider.domains.get(addresses.domain_of(email))
    if own_role is None:
        raise SignInFailed(NOT_INVITED, f"{provider.id}: the address has no user")
    _check_role(provider, role)
    if users.count(provider.account) >= invitations.MOST_USERS:
        raise SignInFailed(REFUSED, f"{provider.id}: the account has no room for another user")
    user = User(
        draw_id(),
        provider.account,
        email,
        role or own_role,
        clock.now(),
        name=_name(claims),
        status=ACTIVE,
        identities={provider.id: claims["sub"]},
        stamp=draw_secret(),
    )
    with audit.bound(author_of(user, request, users.RESOURCE)):
        if not users.create(user):
            raise SignInFailed(REFUSED, f"{provider.id}: the address got a user meanwhile")
    return user


def _link(provider: IdentityProvider, claims: Mapping[str, Any], user: User) -> User:
    """Return the user as one who signs in as this subject; raises for one who may not."""

    def link(present: User) -> User:
        if present.status == DISABLED:
            reason = f"{provider.id}: user {present.id} is disabled"
            raise SignInFailed(REFUSED, reason, present.id)
        subject = present.identities.get(provider.id, claims["sub"])
        if subject != claims["sub"]:  # the provider gave the address to somebody else
            reason = f"{provider.id}: user {present.id} has another subject"
            raise SignInFailed(REFUSED, reason, present.id)
        linked = replace(present, identities={**present.identities, provider.id: subject})
        if present.status != INVITED:
            return linked
        return replace(
            linked,
            status=ACTIVE,
            invitation=None,
            name=present.name or _name(claims),
            stamp=draw_secret(),
        )

    after = users.change(user.id, link)
    if after is None:
        raise SignInFailed(REFUSED, f"{provider.id}: user {user.id} was removed meanwhile")
    return after


def _with_role(user: User, role: str) -> User:
    """Return the user with the role that the provider names; the last administrator keeps its."""

    def change(present: User) -> User:
        is_confined = present.subaccount_id is not None
        if not role or role == present.role or (is_confined and role not in roles.CONFINABLE):
            return present
        return replace(present, role=role, grants=(), stamp=draw_secret())

    try:
        return users.change(user.id, change) or user
    except ApiError as error:
        if error.status != 409:
            raise
        return user


def _role(provider: IdentityProvider, claims: Mapping[str, Any]) -> str:
    """Return the role that the claims name, by the first entry of ``roles`` that fits."""
    if not provider.role_claim:
        return ""
    value = _claim(claims, provider.role_claim)
    values = value if isinstance(value, list) else [value]
    fitting = [role for group, role in provider.roles.items() if group in values]
    return next(iter(fitting), provider.default_role)


def _check_role(provider: IdentityProvider, role: str, user_id: str = "") -> None:
    """Refuse who has none of the groups that have a role, where groups decide."""
    if provider.role_claim and not role:
        reason = f"{provider.id}: no group of the user has a role"
        raise SignInFailed(NOT_INVITED, reason, user_id)


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its name, or by the path of a nested one (``realm_access.roles``)."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _verified_address(provider: IdentityProvider, claims: Mapping[str, Any]) -> str:
    email = claims.get("email")
    if not isinstance(email, str) or not addresses.is_address(email):
        raise SignInFailed(UNVERIFIED, f"{provider.id}: the user has no address")
    if claims.get(provider.verified_claim) not in _TRUE:
        raise SignInFailed(UNVERIFIED, f"{provider.id}: the address was not verified")
    return email


def _name(claims: Mapping[str, Any]) -> str:
    name = claims.get("name")
    return name.strip()[:MOST_NAME] if isinstance(name, str) and name.isprintable() else ""


def _note(provider: IdentityProvider, failure: SignInFailed, request: Request) -> None:
    """Write the refusal of somebody whom the provider has signed in to the audit log."""
    author = audit.Author(
        provider.account,
        Actor("user", failure.user_id, ""),
        request.method,
        request.path,
        RESOURCE,
        request.source_ip,
        request.request_id,
    )
    fields = {"method": provider.id, "reason": failure.code}
    audit.note(failure.user_id, of=author, outcome=audit.REFUSED, after=fields)
