from __future__ import annotations

import pytest

from chalicelib.core.domain_names import BadName
from chalicelib.core.errors import ApiError
from chalicelib.sending_domains import store
from chalicelib.sending_domains.compliance import block, unblock
from chalicelib.sending_domains.lookup import check_usable
from tests.unit.sending_domains.examples import domain

pytestmark = pytest.mark.usefixtures("cloud")


def may_send(name: str, account: int) -> bool:
    try:
        check_usable(store.get(name), name, account, None)
    except ApiError:
        return False
    return True


def test_a_blocked_domain_and_domains_below_it_cannot_send_in_any_account() -> None:
    store.create(domain("example.com"))
    store.create(domain("a.example.com", subaccount_id=7))
    store.create(domain("b.other.com", account=2))
    store.create(domain("c.other.com", account=3))
    assert block("Example.com") == ["a.example.com", "example.com"]
    assert not may_send("example.com", 1)
    assert may_send("b.other.com", 2)
    assert block("other.com") == ["b.other.com", "c.other.com"]
    assert not may_send("b.other.com", 2)
    assert not may_send("c.other.com", 3)


def test_a_block_stays_when_the_domain_is_deleted() -> None:
    store.create(domain("example.com"))
    block("example.com")
    sending_domain = store.get("example.com")
    assert sending_domain is not None
    assert sending_domain.status.compliance_status == "blocked"
    store.delete(sending_domain)
    assert not store.create(domain("example.com", account=2))
    assert unblock("example.com") == []
    assert store.create(domain("example.com", account=2))


def test_a_domain_that_another_block_covers_stays_blocked() -> None:
    for name in ("example.com", "a.example.com", "b.example.com"):
        store.create(domain(name))
    block("example.com")
    block("a.example.com")
    assert unblock("example.com") == ["a.example.com", "b.example.com", "example.com"]
    assert may_send("example.com", 1)
    assert may_send("b.example.com", 1)
    assert not may_send("a.example.com", 1)


def test_text_that_is_not_a_domain_name_cannot_be_blocked() -> None:
    with pytest.raises(BadName):
        block("nodot")
