from __future__ import annotations

import pytest

from chalicelib.accounts.model import Account
from chalicelib.accounts.routes import show_account
from chalicelib.accounts.store import accounts
from chalicelib.accounts.view import account_view
from chalicelib.core.request import Caller, Request
from chalicelib.core.scope import Scope

pytestmark = pytest.mark.usefixtures("cloud")


def request_of(account: int) -> Request:
    caller = Caller(Scope(account, None), "id of the key", frozenset({"account/view"}))
    return Request(authenticated=caller)


@pytest.mark.spec("4.6-t1")
def test_the_account_of_the_key_is_shown() -> None:
    for number, name in ((1, "Mine"), (2, "Another")):
        accounts.create(Account(number, name, created=1.0, updated=2.0))
    reply = show_account(request_of(1))
    assert reply.status == 200
    assert reply.body == {"results": account_view(Account(1, "Mine", created=1.0, updated=2.0))}


def test_a_key_whose_account_is_gone_is_a_fault_that_names_it() -> None:
    with pytest.raises(LookupError, match="id of the key"):
        show_account(request_of(1))
