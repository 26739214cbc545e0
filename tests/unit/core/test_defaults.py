from __future__ import annotations

import pytest

from chalicelib.core import defaults, dynamo
from chalicelib.core.dynamo import TransactionFailed
from tests.fake_cloud import aws_requests

pytestmark = pytest.mark.usefixtures("cloud")


def set_default(account: int, subaccount: int | None, name: str, former: str | None = None) -> None:
    dynamo.transact([defaults.setting("thing", account, subaccount, name, former)])


def test_an_owner_has_no_default_until_one_is_set() -> None:
    assert defaults.of_owner("thing", 1, None) is None
    set_default(1, None, "a")
    assert defaults.of_owner("thing", 1, None) == "a"
    assert defaults.of_owner("other", 1, None) is None
    assert defaults.of_owner("thing", 2, None) is None
    assert defaults.of_owner("thing", 1, 7) is None


@pytest.mark.cost
def test_a_sender_falls_back_to_its_own_then_to_the_primary_accounts() -> None:
    set_default(1, 7, "sub")
    set_default(1, None, "primary")
    assert defaults.of_sender("thing", 1, 7) == ["sub", "primary"]
    assert defaults.of_sender("thing", 1, 8) == ["primary"]
    assert defaults.of_sender("thing", 1, None) == defaults.of_sender("thing", 1, 0) == ["primary"]
    with aws_requests() as requests:
        defaults.of_sender("thing", 1, 7)
    assert len(requests) == 1


def test_a_default_changes_only_if_its_former_value_is_the_expected_one() -> None:
    set_default(1, None, "a")
    with pytest.raises(TransactionFailed):
        set_default(1, None, "b")
    with pytest.raises(TransactionFailed):
        set_default(1, None, "b", former="c")
    set_default(1, None, "b", former="a")
    with pytest.raises(TransactionFailed):
        dynamo.transact([defaults.clearing("thing", 1, None, "a")])
    dynamo.transact([defaults.clearing("thing", 1, None, "b")])
    assert defaults.of_owner("thing", 1, None) is None
