"""Read the bodies of ``/users``, and check what a caller may give and whom it may change.

Nobody gives a role or a grant that they do not hold, and nobody changes a user who may do more than
they: who could do so would hold everything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from chalicelib.api_keys.grants import PRIMARY_GRANTS
from chalicelib.core import addresses
from chalicelib.core.errors import Forbidden, conflict
from chalicelib.core.params import Params
from chalicelib.core.request import Caller
from chalicelib.subaccounts import store as subaccounts
from chalicelib.subaccounts.model import is_id
from chalicelib.users.model import ACTIVE, DISABLED, INVITED, User, draw_secret
from chalicelib.users.roles import CONFINABLE, CUSTOM, ROLES, grants_of

MOST_NAME: Final = 100
_MOST_GRANTS = 100


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user to invite."""

    email: str
    name: str
    role: str
    subaccount_id: int | None
    grants: tuple[str, ...]


def read_new(caller: Caller, body: Any) -> NewUser:
    """Read the body of an invitation; raises 400 with every fault, and 403."""
    params = Params(body)
    email = params.text("email", most=addresses.LONGEST, required=True)
    if email is not None and not addresses.is_address(email):
        params.refuse("email", "email must be an email address", email)
    name = params.text("name", most=MOST_NAME, blank=True) or ""
    role = params.choice("role", ROLES)
    if role is None and body.get("role") is None:
        params.refuse("role", "role is a required field", None)
    subaccount_id = caller.scope.owner
    if "subaccount_id" in body:
        subaccount_id = _subaccount_id(params, body)
    grants = _grants(params)
    _check_shape(params, caller.account_id, role or CUSTOM, subaccount_id, grants)
    params.check()
    new = NewUser(email or "", name, role or "", subaccount_id, tuple(grants or ()))
    _check_place(caller, subaccount_id)
    check_holds(caller, grants_of(new.role, new.grants, new.subaccount_id))
    return new


def apply_change(caller: Caller, body: Any, user: User) -> User:
    """Return a user with the changes of a body; raises 400 with every fault, 403 and 409.

    A change of what the user may do, or of its status, ends its sessions.
    """
    check_may_change(caller, user)
    params = Params(body)
    name = params.text("name", most=MOST_NAME, blank=True)
    role = params.choice("role", ROLES) or user.role
    status = params.choice("status", (ACTIVE, DISABLED)) or user.status
    subaccount_id = user.subaccount_id
    if "subaccount_id" in body:
        subaccount_id = _subaccount_id(params, body)
    grants = _grants(params)
    if grants is None and role == CUSTOM:
        grants = list(user.grants)
    _check_shape(params, caller.account_id, role, subaccount_id, grants)
    params.check()
    if user.status == INVITED and status != INVITED:
        raise conflict(
            "the user is invited",
            description="the user has not accepted the invitation: remove the user instead",
        )
    after = replace(
        user,
        name=user.name if name is None else name,
        role=role,
        status=status,
        subaccount_id=subaccount_id,
        grants=tuple(grants or ()),
    )
    _check_place(caller, subaccount_id)
    if after == replace(user, name=after.name):
        return after
    check_holds(caller, after.all_grants())
    reset = user.reset if status == user.status else None
    return replace(after, reset=reset, stamp=draw_secret())


def check_may_change(caller: Caller, user: User) -> None:
    """Raise 403 unless the caller holds everything that a user does."""
    beyond = sorted(user.all_grants() - caller.grants)
    if beyond and not (caller.user and caller.user.user_id == user.id):
        raise Forbidden(f"the user holds what you do not: {', '.join(beyond)}")


def check_holds(caller: Caller, grants: frozenset[str]) -> None:
    """Raise 403 if a caller would give grants that it does not hold itself."""
    beyond = sorted(grants - caller.grants)
    if beyond:
        raise Forbidden(f"you do not hold what you would give: {', '.join(beyond)}")


def _check_place(caller: Caller, subaccount_id: int | None) -> None:
    """Raise 403 if a caller of one subaccount would place a user elsewhere."""
    if caller.scope.owner not in (None, subaccount_id):
        raise Forbidden(f"the request is about subaccount {caller.scope.owner} only")


def _subaccount_id(params: Params, body: Any) -> int | None:
    value = body["subaccount_id"]
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or not is_id(str(value)):
        params.refuse("subaccount_id", "subaccount_id must be the number of a subaccount", value)
        return None
    return value


def _grants(params: Params) -> list[str] | None:
    grants = params.texts("grants", most=_MOST_GRANTS, blank=True)
    for grant in grants or ():
        if grant not in PRIMARY_GRANTS:
            params.refuse("grants", "grants has an unsupported value", grant)
    return None if grants is None else sorted(set(grants))


def _check_shape(
    params: Params,
    account_id: int,
    role: str,
    subaccount_id: int | None,
    grants: list[str] | None,
) -> None:
    """Note what does not fit together."""
    if role == CUSTOM and not grants:
        params.refuse("grants", "grants is a required field of the role custom", None)
    if role != CUSTOM and grants:
        params.refuse("grants", "grants are for the role custom only", grants)
    if subaccount_id is None:
        return
    if role not in CONFINABLE:
        names = " and ".join(CONFINABLE)
        message = f"subaccount_id is for the roles {names} only"
        params.refuse("subaccount_id", message, subaccount_id)
    elif subaccounts.get(account_id, subaccount_id) is None:
        params.refuse("subaccount_id", "the subaccount does not exist", subaccount_id)
