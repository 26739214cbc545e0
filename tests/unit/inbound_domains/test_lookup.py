"""Find the inbound domain that mail is for."""

from __future__ import annotations

import pytest

from chalicelib.core import config_cache, dynamo
from chalicelib.core.scope import Scope
from chalicelib.domain_claims import store as claims
from chalicelib.inbound_domains import store
from chalicelib.inbound_domains.lookup import registered
from chalicelib.inbound_domains.model import Action, MailRoute
from chalicelib.sending_domains import store as sending_domains
from chalicelib.sending_domains.model import DomainStatus, SendingDomain
from tests.fake_cloud import aws_requests
from tests.unit.inbound_domains.examples import store_inbound_domain

pytestmark = pytest.mark.usefixtures("cloud")


def send_from(name: str, account: int, *, verified: bool = True) -> None:
    status = DomainStatus(ownership_verified=verified)
    assert sending_domains.create(SendingDomain(name, account, 1.0, status))
    config_cache.clear_cache()


@pytest.mark.parametrize(
    "name", ["bücher.example.com", "XN--BCHER-KVA.example.COM", "BÜCHER。example.com"]
)
def test_a_domain_is_found_in_any_spelling(name: str) -> None:
    routes = (MailRoute("info", Action.FORWARD, "a@b.test"), MailRoute("*", Action.DROP))
    domain = store_inbound_domain(
        "xn--bcher-kva.example.com", routes=routes, subaccount_id=7, mx_records=("10 a.test",)
    )
    assert registered(name) == domain


@pytest.mark.parametrize("name", ["", "in", "in.test.", "a.in.test", "x" * 5000, "é" * 300, "-"])
def test_names_that_nobody_has_registered_are_not_found(name: str) -> None:
    store_inbound_domain()
    assert registered(name) is None


def test_another_account_that_proves_its_name_ends_the_receipt_for_it() -> None:
    store_inbound_domain("in.example.com")
    send_from("in.example.com", 2, verified=False)
    assert registered("in.example.com")
    send_from("example.com", 2)
    assert registered("in.example.com") is None


def test_a_sending_domain_of_the_same_account_or_below_ends_nothing() -> None:
    store_inbound_domain("in.example.com")
    send_from("in.example.com", 1)
    send_from("example.com", 1)
    assert registered("in.example.com")
    store_inbound_domain("example.net")
    send_from("a.example.net", 2)
    assert registered("example.net")


def test_a_blocked_name_receives_nothing() -> None:
    store_inbound_domain("in.example.com")
    claims.block("example.com")
    assert registered("in.example.com") is None


def test_the_relay_webhook_is_set_and_taken_away_in_a_transaction_of_others() -> None:
    domain = store_inbound_domain()
    assert registered("in.test") == domain
    dynamo.transact([store.relay_webhook_write(domain, "12")])
    store.forget(domain)
    with_webhook = registered("in.test")
    assert with_webhook
    assert with_webhook.relay_webhook_id == "12"
    with pytest.raises(dynamo.TransactionFailed):
        dynamo.transact([store.relay_webhook_write(domain, "13")])
    dynamo.transact([store.relay_webhook_write(with_webhook, "")])
    assert store.find(Scope(1, None), "in.test") == domain


@pytest.mark.cost
def test_lookups_cost_no_request_while_the_answer_is_in_the_cache() -> None:
    store_inbound_domain("in.example.com")
    with aws_requests() as requests:
        assert registered("in.example.com")
        assert registered("other.example.com") is None
    assert len(requests) == 3
    with aws_requests() as requests:
        assert registered("in.example.com")
        assert registered("other.example.com") is None
    assert requests == []
