from __future__ import annotations

import pytest

from chalicelib.ab_tests.lookup import find_test
from chalicelib.core.errors import ServiceError
from chalicelib.core.scope import Scope
from tests.unit.ab_tests.examples import by_size, stored

pytestmark = pytest.mark.usefixtures("cloud")


def test_a_sender_finds_its_own_test() -> None:
    stored(by_size(5, 5)), stored(by_size(5, 5, id="theirs", subaccount_id=7))
    assert find_test(Scope(1, 0), "welcome").name == "Welcome"
    assert find_test(Scope(1, 7), "theirs").subaccount_id == 7


@pytest.mark.spec("4.1-r8")
@pytest.mark.spec("7-t21")
@pytest.mark.parametrize(
    ("scope", "test_id"),
    [
        (Scope(1, 0), "other"),
        (Scope(2, 0), "welcome"),
        (Scope(1, 7), "welcome"),
        (Scope(1, 0), "theirs"),
        (Scope(1, 8), "theirs"),
    ],
)
def test_any_other_test_does_not_exist(scope: Scope, test_id: str) -> None:
    stored(by_size(5, 5)), stored(by_size(5, 5, id="theirs", subaccount_id=7))
    with pytest.raises(ServiceError, match=f"A/B test '{test_id}' does not exist") as refused:
        find_test(scope, test_id)
    assert (refused.value.status, refused.value.errors[0]["code"]) == (422, "1603")
