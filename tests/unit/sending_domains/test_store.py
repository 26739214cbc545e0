from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.core import defaults, due
from chalicelib.core.dynamo import Table, WriteConflict
from chalicelib.core.scope import Scope
from chalicelib.sending_domains import store
from chalicelib.sending_domains.model import SendingDomain
from tests.unit.sending_domains.examples import domain

pytestmark = pytest.mark.usefixtures("cloud")


def test_a_domain_is_read_with_all_its_fields() -> None:
    sending_domain = domain(
        subaccount_id=7,
        tracking_domain="t.example.test",
        shared_with_subaccounts=True,
        is_default_bounce_domain=True,
    )
    assert store.create(sending_domain)
    assert store.get("mail.example.test") == sending_domain


def test_a_domain_without_a_key_is_read_without_one() -> None:
    store.create(domain(dkim=None))
    assert store.get("mail.example.test") == domain(dkim=None)


def test_an_unknown_domain_is_none() -> None:
    assert store.get("mail.example.test") is None


def test_names_are_compared_without_case() -> None:
    assert store.create(domain("Mail.Example.test"))
    assert not store.create(domain("mail.EXAMPLE.test", account=2))
    sending_domain = store.get("MAIL.example.TEST")
    assert sending_domain is not None
    assert (sending_domain.domain, sending_domain.account_id) == ("mail.example.test", 1)


def test_the_domains_of_an_account_can_be_listed_by_name() -> None:
    for name, account in (("b.test", 1), ("a.test", 1), ("c.test", 11)):
        store.create(domain(name, account))
    page = Table("config").query("#owner = :o", {"o": "account#1/domains"}, index="by_owner")
    assert [item["domain"] for item in page.items] == ["a.test", "b.test"]


def test_the_domains_of_one_owner_can_be_listed() -> None:
    for name, part in (("b.test", None), ("a.test", None), ("c.test", 7), ("d.test", 77)):
        store.create(domain(name, subaccount_id=part))
    store.create(domain("e.test", account=11))
    for part, names in (
        (None, {"a.test", "b.test", "c.test", "d.test"}),
        (0, {"a.test", "b.test"}),
        (7, {"c.test"}),
        (9, set()),
    ):
        assert {each.domain for each in store.in_scope(Scope(1, part))} == names


def test_a_domain_is_found_in_its_scope_only() -> None:
    store.create(domain(subaccount_id=7))
    for scope, is_found in (
        (Scope(1, None), True),
        (Scope(1, 7), True),
        (Scope(1, 0), False),
        (Scope(1, 8), False),
        (Scope(2, None), False),
    ):
        assert (store.find(scope, "mail.example.test") is not None) is is_found


def test_a_domain_that_changed_meanwhile_is_not_overwritten() -> None:
    store.create(domain())
    before = store.get("mail.example.test")
    assert before is not None
    store.save(before, replace(before, tracking_domain="one.test"))
    with pytest.raises(WriteConflict):
        store.save(before, replace(before, tracking_domain="two.test"))
    with pytest.raises(WriteConflict):
        store.delete(before)
    now = store.get("mail.example.test")
    assert now is not None
    assert (now.tracking_domain, now.revision) == ("one.test", 1)


def test_concurrent_changes_are_all_made() -> None:
    store.create(domain())

    def link(before: SendingDomain) -> SendingDomain:
        return replace(before, tracking_domain="t.test")

    def share(before: SendingDomain) -> SendingDomain:
        if not before.tracking_domain:
            store.change("mail.example.test", link)
        return replace(before, shared_with_subaccounts=True)

    changed = store.change("mail.example.test", share)
    now = store.get("mail.example.test")
    assert now is not None
    assert now == changed
    assert (now.tracking_domain, now.shared_with_subaccounts) == ("t.test", True)
    assert now.revision == 2


def test_a_change_that_changes_nothing_writes_nothing() -> None:
    store.create(domain())
    store.change("mail.example.test", lambda before: before)
    now = store.get("mail.example.test")
    assert now is not None
    assert now.revision == 0
    assert store.change("unknown.test", lambda before: before) is None


def test_each_write_replaces_the_due_entry_of_the_domain() -> None:
    store.create(domain(check_ms=1000))
    sending_domain = store.get("mail.example.test")
    assert sending_domain is not None
    store.save(sending_domain, replace(sending_domain, check_ms=2000))
    assert [entry.at_ms for entry in due.find(store.CONCERN, 9999)] == [2000]
    sending_domain = store.get("mail.example.test")
    assert sending_domain is not None
    store.delete(sending_domain)
    assert due.find(store.CONCERN, 9999) == []


def test_deleting_the_default_bounce_domain_removes_the_default() -> None:
    store.create(domain(is_default_bounce_domain=True))
    sending_domain = store.get("mail.example.test")
    assert sending_domain is not None
    store.delete(sending_domain)
    assert defaults.of_owner(store.BOUNCE, 1, None) is None
    assert store.create(domain(is_default_bounce_domain=True))
