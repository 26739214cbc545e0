"""Accounts, keys, domains and subaccounts for tests, stored as the service would store them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from chalicelib.accounts.model import Account
from chalicelib.accounts.plan import Plan, self_hosted_plan
from chalicelib.accounts.store import accounts
from chalicelib.api_keys import model as key_model
from chalicelib.api_keys import store as api_keys
from chalicelib.api_keys.grants import supported
from chalicelib.core import clock
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.model import DomainStatus, SendingDomain
from chalicelib.subaccounts import store as subaccounts
from chalicelib.subaccounts.model import Subaccount
from chalicelib.users import cookies
from chalicelib.users import model as user_model
from chalicelib.users.model import User
from chalicelib.users.store import sessions, users
from tests.unit.calling import Client

_END_OF_TIME: Final = 253_402_297_200  # the last hour of the year 9999


def make_account(number: int = 1, **fields: Any) -> Account:
    """Store an account."""
    now = clock.now()
    attributes: dict[str, Any] = {"subscription": self_hosted_plan(now)} | fields
    account = Account(number, f"Company {number}", created=now, updated=now, **attributes)
    assert accounts.create(account)
    return account


def limit(number: int = 1, **limits: int) -> None:
    """Put an account on a plan with these limits."""
    plan = Plan("tests", "Tests", 0.0, **limits)
    accounts.change(number, lambda account: replace(account, subscription=plan))


def make_key(
    account: int = 1,
    subaccount: int | None = None,
    *,
    secret: str = "",
    grants: Iterable[str] | None = None,
    valid_ips: Iterable[str] = (),
) -> Client:
    """Store a key, with every grant it can have unless told, and return its client.

    It is a key in use: its last use is stored for all hours to come, so that its first request
    costs what its later ones do.
    """
    secret = secret or key_model.draw_key()
    key_grants = supported(subaccount) if grants is None else grants
    key = key_model.new_key(
        secret, account, "tests", key_grants, subaccount_id=subaccount, valid_ips=list(valid_ips)
    )
    api_keys.put(replace(key, last_used=_END_OF_TIME))
    return Client(secret)


def make_user(account: int = 1, email: str = "", role: str = "admin", **fields: Any) -> User:
    """Store an active user."""
    name = fields.pop("id", "") or user_model.draw_id()
    attributes: dict[str, Any] = {"status": user_model.ACTIVE, "stamp": "first"} | fields
    email = email or f"{name}@acme.example"
    user = User(name, account, email, role, created=clock.now(), **attributes)
    assert users.create(user)
    return user


def sign_in(user: User, *, second_factor: bool = False, method: str = "password") -> Client:
    """Begin a session of a user and return the browser that has its cookie and its token."""
    secret, session_id = sessions.begin(
        user, method=method, second_factor=second_factor, ip="192.0.2.1", agent="tests"
    )
    cookie = cookies.set_cookie(user, secret).partition(";")[0]
    return Client("", {"Cookie": cookie, "X-CSRF-Token": cookies.csrf_token(session_id)})


def make_subaccount(account: int = 1, name: str = "A sender", **fields: Any) -> Subaccount:
    """Store a subaccount."""
    now = clock.now()
    subaccount = Subaccount(
        subaccounts.draw_id(), account, name, created=now, updated=now, **fields
    )
    subaccounts.create(subaccount)
    return subaccount


def make_domain(name: str, account: int = 1, subaccount: int | None = None, **fields: Any) -> None:
    """Store a sending domain that mail may be sent from."""
    status = DomainStatus(ownership_verified=True)
    domain = SendingDomain(
        name, account, created=clock.now(), status=status, subaccount_id=subaccount, **fields
    )
    assert domains.create(domain)


def transmission(sender: str = "me@example.test", *recipients: str) -> dict[str, Any]:
    """Return the body of a transmission, to one recipient unless told."""
    return {
        "recipients": [{"address": each} for each in recipients or ("you@inbox.test",)],
        "content": {"from": sender, "subject": "Hello", "text": "Hello"},
    }
