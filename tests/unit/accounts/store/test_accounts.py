from __future__ import annotations

import pytest

from chalicelib.accounts.model import Account
from chalicelib.accounts.plan import self_hosted_plan
from chalicelib.accounts.store import accounts

pytestmark = pytest.mark.usefixtures("cloud")

MINE = Account(
    1,
    "Example Ltd",
    created=1_769_850_300.75,
    updated=1_769_850_301.0,
    tfa_required=True,
    subscription=self_hosted_plan(1_769_850_300.75),
    options={"smtp_tracking_default": True},
)


def test_an_account_comes_back_with_all_its_fields() -> None:
    assert accounts.create(MINE)
    assert accounts.get(1) == MINE


def test_an_account_that_does_not_exist_is_none() -> None:
    accounts.create(MINE)
    assert accounts.get(11) is None


def test_the_id_of_an_account_cannot_be_taken_twice() -> None:
    accounts.create(MINE)
    assert not accounts.create(Account(1, "Another", created=0.0, updated=0.0))
    assert accounts.get(1) == MINE
