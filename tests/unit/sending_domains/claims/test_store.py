"""Who may have which name (spec 4.4): one account for a domain and everything below it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.core.domain_names import is_within, parents
from chalicelib.core.dynamo import Table
from chalicelib.core.errors import ApiError
from chalicelib.sending_domains import store
from chalicelib.sending_domains.claims import store as claims
from tests.unit.sending_domains.examples import domain

pytestmark = pytest.mark.usefixtures("cloud")


def take(name: str, account: int) -> bool:
    return store.create(domain(name, account, dkim=None))


def release(name: str) -> None:
    found = store.get(name)
    assert found is not None
    store.delete(found)


def refusal(name: str, account: int) -> ApiError:
    return claims.refusal(name, parents(name), account)


@pytest.mark.spec("7-t27")
@pytest.mark.parametrize(
    ("held", "wanted"),
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
    held: str, wanted: str
) -> None:
    assert take(held, 1)
    assert not take(wanted, 2)
    assert store.get(wanted) is None
    error = refusal(wanted, 2)
    assert (error.status, error.code) == (400, "7004")
    assert take(wanted, 1), "the same account can have both"


def test_neighbours_and_strangers_do_not_exclude_each_other() -> None:
    for account, name in enumerate(
        ["a.example.com", "c.example.com", "x.co.uk", "y.co.uk", "u.github.io", "v.github.io"], 1
    ):
        assert take(name, account)


def test_nobody_gets_what_lies_above_the_names_of_two_accounts() -> None:
    assert take("a.b.example.com", 1)
    assert take("c.example.com", 2)
    for account in (1, 2, 3):
        assert not take("example.com", account)
    assert not take("b.example.com", 2)
    assert take("b.example.com", 1)


def test_a_released_name_frees_what_it_kept_from_others() -> None:
    assert take("a.b.example.com", 1)
    assert take("c.example.com", 2)
    release("c.example.com")
    assert take("example.com", 1)
    release("a.b.example.com")
    assert not take("a.b.example.com", 2), "the account still has the domain above"
    release("example.com")
    assert take("a.b.example.com", 2)
    assert not take("example.com", 1)


def test_a_name_that_its_own_account_has_is_a_conflict() -> None:
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


def test_a_refusal_leaves_no_trace() -> None:
    assert take("example.com", 1)
    table = Table("config")
    before = [table.get(f"domain#{name}", "claim") for name in ("example.com", "b.example.com")]
    assert not take("a.b.example.com", 2)
    after = [table.get(f"domain#{name}", "claim") for name in ("example.com", "b.example.com")]
    assert before == after


def test_the_holders_of_a_name_and_those_below_it_are_known() -> None:
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
    held: dict[str, int] = {}
    for name, account, releases in steps:
        if releases and name in held:
            release(name)
            del held[name]
        elif not releases:
            clash = any(excludes(name, other) and held[other] != account for other in held)
            free = name not in held and not clash
            assert take(name, account) is free
            if free:
                held[name] = account
