"""A domain and everything below it belong to one account (spec 4.4)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.core.domain_names import is_within, parents
from chalicelib.core.dynamo import Table
from chalicelib.core.errors import ApiError
from chalicelib.core.scope import SYSTEM_ACCOUNT
from chalicelib.domain_claims import store as claims
from chalicelib.sending_domains import store
from tests.unit.sending_domains.examples import domain

pytestmark = pytest.mark.usefixtures("cloud")


def take(name: str, account: int) -> bool:
    return store.create(domain(name, account, dkim=None))


def release(name: str) -> None:
    sending_domain = store.get(name)
    assert sending_domain is not None
    store.delete(sending_domain)


def refusal(name: str, account: int) -> ApiError:
    return claims.refusal(name, parents(name), account)


@pytest.mark.spec("7-t27")
@pytest.mark.parametrize(
    ("owned_name", "requested_name"),
    [
        ("example.com", "a.example.com"),
        ("example.com", "a.b.example.com"),
        ("a.example.com", "example.com"),
        ("a.b.example.com", "example.com"),
        ("a.b.example.com", "b.example.com"),
        ("example.co.uk", "a.example.co.uk"),
    ],
)
def test_a_domain_above_or_below_one_of_another_account_cannot_be_taken(
    owned_name: str, requested_name: str
) -> None:
    assert take(owned_name, 1)
    assert not take(requested_name, 2)
    assert store.get(requested_name) is None
    error = refusal(requested_name, 2)
    assert (error.status, error.code) == (400, "7004")
    assert take(requested_name, 1), "the same account can have both"


def test_siblings_and_unrelated_domains_may_belong_to_different_accounts() -> None:
    for account, name in enumerate(
        ["a.example.com", "c.example.com", "x.co.uk", "y.co.uk", "u.github.io", "v.github.io"], 1
    ):
        assert take(name, account)


def test_no_account_can_take_a_domain_above_the_domains_of_two_accounts() -> None:
    assert take("a.b.example.com", 1)
    assert take("c.example.com", 2)
    for account in (1, 2, 3):
        assert not take("example.com", account)
    assert not take("b.example.com", 2)
    assert take("b.example.com", 1)


def test_a_released_name_frees_the_names_above_and_below_it() -> None:
    assert take("a.b.example.com", 1)
    assert take("c.example.com", 2)
    release("c.example.com")
    assert take("example.com", 1)
    release("a.b.example.com")
    assert not take("a.b.example.com", 2), "the account still has the domain above"
    release("example.com")
    assert take("a.b.example.com", 2)
    assert not take("example.com", 1)


def test_an_account_cannot_register_a_name_twice() -> None:
    assert take("example.com", 1)
    assert not take("example.com", 1)
    error = refusal("example.com", 1)
    assert (error.status, error.code) == (409, "1602")
    assert refusal("example.com", 2).code == "7004"


def test_a_blocked_name_and_those_below_it_cannot_be_taken() -> None:
    claims.block("bad.example.com")
    for name in ("bad.example.com", "a.bad.example.com"):
        assert not take(name, 1)
        assert refusal(name, 1).code == "7000"
    assert take("example.com", 1)
    claims.unblock("bad.example.com")
    claims.unblock("never-blocked.example.com")
    assert take("a.bad.example.com", 1)


def test_a_refused_registration_writes_no_claims() -> None:
    assert take("example.com", 1)
    table = Table("config")
    before = [table.get(f"domain#{name}", "claim") for name in ("example.com", "b.example.com")]
    assert not take("a.b.example.com", 2)
    after = [table.get(f"domain#{name}", "claim") for name in ("example.com", "b.example.com")]
    assert before == after


def test_accounts_within_a_name_are_those_that_hold_it_or_a_name_below_it() -> None:
    take("a.example.com", 1)
    take("b.a.example.com", 1)
    take("c.example.com", 2)
    take("d.example.com", 3)
    release("d.example.com")
    assert claims.accounts_within("example.com") == {1, 2}
    assert claims.accounts_within("a.example.com") == {1}
    assert claims.accounts_within("b.a.example.com") == {1}
    assert claims.accounts_within("example.org") == set()


NAMES = ["example.com", "a.example.com", "b.a.example.com", "c.example.com", "b.c.example.com"]
STEPS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(1, 3), st.booleans()), min_size=5, max_size=20
)


def excludes(name: str, other: str) -> bool:
    return is_within(name, other) or is_within(other, name)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_a_name_is_taken_exactly_when_no_other_account_is_above_or_below(
    steps: list[tuple[str, int, bool]],
) -> None:
    for name in NAMES:
        if store.get(name):
            release(name)
    holders: dict[str, int] = {}
    for name, account, releases in steps:
        if releases and name in holders:
            release(name)
            del holders[name]
        elif not releases:
            clash = any(excludes(name, other) and holders[other] != account for other in holders)
            free = name not in holders and not clash
            assert take(name, account) is free
            if free:
                holders[name] = account


def test_the_domain_above_the_services_own_may_be_taken_by_anybody() -> None:
    assert take("mail.example.com", SYSTEM_ACCOUNT)
    assert take("example.com", 1)
    assert not take("a.mail.example.com", 1)
    release("mail.example.com")
    assert take("mail.example.com", 1)


def test_a_name_above_the_services_own_domain_that_was_kept_is_set_free() -> None:
    assert take("mail.example.com", 7)
    sending_domain = store.get("mail.example.com")
    assert sending_domain is not None
    assert not take("example.com", 1)
    store.free_names_above(sending_domain)
    assert take("example.com", 1)
    changed = store.get("mail.example.com")
    assert changed is not None
    store.free_names_above(changed)
    store.delete(changed)
