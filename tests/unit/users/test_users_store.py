from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from chalicelib.core.errors import ApiError
from chalicelib.core.scope import Scope
from chalicelib.users.model import DISABLED, User, draw_id
from chalicelib.users.store import users
from tests.unit.people import make_account, make_user

pytestmark = pytest.mark.usefixtures("cloud")


def test_a_user_is_found_by_id_by_address_and_in_its_account_only() -> None:
    make_account()
    user = make_user(email="Ann@Acme.example")
    assert users.get(user.id) == replace(user, revision=users.get(user.id).revision)  # type: ignore[union-attr]
    assert users.by_address("ann@acme.EXAMPLE") == users.get(user.id)
    assert [each.id for each in users.in_scope(Scope(1, None))] == [user.id]
    assert users.find(Scope(1, None), user.id)
    assert users.find(Scope(2, None), user.id) is None
    assert users.in_scope(Scope(2, None)) == []


def test_an_address_belongs_to_one_user_of_the_whole_service() -> None:
    make_user(1, email="ann@acme.example")
    other = User(draw_id(), 2, "ANN@acme.example", "admin", created=0.0)
    assert not users.create(other)
    assert users.get(other.id) is None


def test_an_erased_users_address_is_free_again() -> None:
    user = make_user(email="ann@acme.example", role="developer")
    assert users.delete(user, [])
    assert not users.delete(user, [])
    assert users.by_address("ann@acme.example") is None
    make_user(email="ann@acme.example")


@pytest.mark.parametrize(
    "edit",
    [
        lambda user: replace(user, role="developer"),
        lambda user: replace(user, status=DISABLED),
        None,
    ],
)
def test_the_last_active_administrator_stays(edit: Callable[[User], User] | None) -> None:
    make_user(role="developer")
    make_user(status="invited")
    last = make_user()

    def act(user: User) -> object:
        return users.change(user.id, edit) if edit else users.delete(user, [])

    with pytest.raises(ApiError) as refusal:
        act(last)
    assert refusal.value.status == 409
    second = make_user()
    act(second)
    assert users.get(last.id) is not None
    with pytest.raises(ApiError):
        act(last)
