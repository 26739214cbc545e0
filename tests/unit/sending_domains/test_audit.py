"""The audit log has the changes of sending domains and their keys, never a private key."""

from __future__ import annotations

import json

import pytest

from app import app
from chalicelib.core import clock
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains import recheck, store
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.model import DomainStatus
from tests.fake_cloud import aws_requests
from tests.unit.audit_lines import lines, told
from tests.unit.calling import Client
from tests.unit.core.gateway_events import event
from tests.unit.key_pairs import OTHER, PAIR
from tests.unit.people import make_account, make_key, make_subaccount
from tests.unit.sending_domains.conftest import Outbox
from tests.unit.sending_domains.examples import domain
from tests.unit.zones import Zone

DOMAINS = "/api/v1/sending-domains"
NAME = "mail.example.test"
PATH = f"{DOMAINS}/{NAME}"
KEYS = f"{PATH}/dkim-keys"
KEY = {"id": "k1", "selector": "one", "private": PAIR.private_pem}
DKIM = DkimKey("s1", NAME, PAIR.public_b64, b"\x00sealed\xff")


@pytest.fixture
def owner(zone: Zone, outbox: Outbox) -> Client:
    make_account()
    return make_key()


def is_without_secrets() -> bool:
    """Tell whether no line holds a private key, in PEM or as its base64."""
    text = json.dumps(lines(), default=str)
    pem = PAIR.private_pem.replace("\n", "")
    return "PRIVATE" not in text and pem[40:80] not in text and "sealed" not in text


def test_a_new_domain_is_a_line_without_its_private_key(owner: Client) -> None:
    subaccount = make_subaccount().id
    body = {"domain": "Mail.Example.test", "dkim": {"private": PAIR.private_pem}}
    assert owner.on_behalf_of(subaccount).post(DOMAINS, body).status == 200
    assert is_without_secrets()
    assert lines()[0]["subaccount_id"] == subaccount
    action, resource, name, changes = told()
    assert (action, resource, name) == ("POST", "sending-domains", NAME)
    assert changes["dkim"]["to"]["public"] == PAIR.public_b64
    assert owner.post(DOMAINS, body).status == 409
    assert owner.post(DOMAINS, {"domain": "no domain"}).status == 422
    assert lines() == []


def test_a_change_of_a_domain_tells_what_changed(owner: Client) -> None:
    store.create(domain())
    assert owner.put(PATH, {"shared_with_subaccounts": True}).status == 200
    changes = {"shared_with_subaccounts": {"from": False, "to": True}}
    assert told() == ("PUT", "sending-domains", NAME, changes)
    assert owner.put(PATH, {"shared_with_subaccounts": True}).status == 200
    assert owner.put(f"{DOMAINS}/other.test", {"shared_with_subaccounts": True}).status == 404
    assert lines() == []


def test_a_default_bounce_domain_in_place_of_another_is_one_line(owner: Client) -> None:
    for name in ("a.test", "b.test"):
        store.create(domain(name))
        assert owner.put(f"{DOMAINS}/{name}", {"is_default_bounce_domain": True}).status == 200
        changes = {"is_default_bounce_domain": {"from": False, "to": True}}
        assert told() == ("PUT", "sending-domains", name, changes)


def test_a_check_is_a_line_where_it_changes_a_status(owner: Client, zone: Zone) -> None:
    store.create(domain(status=DomainStatus(), dkim=DKIM))
    zone.set(f"s1._domainkey.{NAME}", ("TXT", txt_record(PAIR.public_b64)))
    for count in (1, 0):
        assert owner.post(f"{PATH}/verify", {"dkim_verify": True}).status == 200
        assert len(lines()) == count
        if count:
            action, resource, name, changes = told()
            assert (action, resource, name) == ("POST", "sending-domains", NAME)
            assert changes["dkim_status"] == {"from": "unverified", "to": "valid"}
            assert changes["ownership_verified"] == {"from": False, "to": True}


def test_a_check_by_the_schedule_is_no_line(owner: Client, zone: Zone) -> None:
    now = clock.now()
    store.create(domain(dkim=DKIM, check_ms=int(now * 1000)))
    assert recheck.reverify_due(now + 1) == {"lost": 1}
    assert lines() == []


def test_each_mailed_link_is_a_line_that_does_not_hold_it(owner: Client, outbox: Outbox) -> None:
    store.create(domain(status=DomainStatus()))
    body = {"verification_mailbox": "post.office", "verification_mailbox_verify": True}
    for moment in (1_769_850_000, 1_769_850_060):
        with clock.use(lambda moment=moment: moment):  # type: ignore[misc]
            assert owner.post(f"{PATH}/verify", body).status == 200
            assert outbox.mails[-1].token not in json.dumps(lines(), default=str)
            changes = told()[3]
            assert list(changes["mailed_links"]["to"]) == ["verification_mailbox"]
    token = {"verification_mailbox_token": outbox.mails[-1].token}
    with clock.use(lambda: 1_769_850_060):
        assert owner.post(f"{PATH}/verify", token).status == 200
        assert told()[3]["verification_mailbox_status"]["to"] == "valid"
        assert owner.post(f"{PATH}/verify", token).status == 200
        assert lines() == []


def test_a_page_that_anybody_opens_is_no_line(owner: Client, outbox: Outbox) -> None:
    store.create(domain(status=DomainStatus()))
    assert owner.post(f"{PATH}/verify", {"postmaster_at_verify": True}).status == 200
    told()
    (mail,) = outbox.mails
    page = event(app, "POST", "/verify-domain/" + mail.token)
    assert app(page, None)["statusCode"] == 200
    verified = store.get(NAME)
    assert verified is not None
    assert verified.status.postmaster_at_status == "valid"
    assert lines() == []


def test_a_deleted_domain_is_one_line_also_with_many_keys(owner: Client) -> None:
    store.create(domain())
    owner.post(KEYS, KEY)
    told()
    assert owner.delete(PATH).status == 204
    action, _, name, changes = told()
    assert (action, name) == ("DELETE", NAME)
    assert changes["dkim_status"] == {"from": "valid", "to": None}
    assert owner.delete(PATH).status == 404
    assert lines() == []


def test_a_further_key_is_a_line_of_its_domain(owner: Client, zone: Zone) -> None:
    store.create(domain())
    assert owner.post(KEYS, KEY).status == 200
    assert is_without_secrets()
    action, resource, name, changes = told()
    assert (action, resource, name) == ("POST", "sending-domains", NAME)
    (key,) = changes["dkim_keys"]["to"]
    assert (key["id"], key["selector"], key["public"]) == ("k1", "one", PAIR.public_b64)
    assert owner.post(KEYS, KEY).status == 409
    assert lines() == []

    rotation = {"private": OTHER.private_pem, "selector": "two"}
    assert owner.put(f"{KEYS}/k1", rotation).status == 200
    assert is_without_secrets()
    changes = told()[3]["dkim_keys"]
    assert (changes["from"][0]["selector"], changes["to"][0]["selector"]) == ("one", "two")

    zone.set(f"two._domainkey.{NAME}", ("TXT", txt_record(OTHER.public_b64)))
    assert owner.post(f"{KEYS}/k1/verify", None).status == 200
    assert told()[3]["dkim_keys"]["to"][0]["dkim_status"] == "valid"
    assert owner.post(f"{KEYS}/k1/verify", None).status == 200
    assert lines() == []

    assert owner.delete(f"{KEYS}/k1").status == 204
    changes = told()[3]["dkim_keys"]
    assert (changes["from"][0]["id"], changes["to"]) == ("k1", [])
    assert further_keys.of_domain(NAME) == []


@pytest.mark.cost
def test_the_line_of_a_key_that_is_verified_costs_no_request(owner: Client, zone: Zone) -> None:
    store.create(domain())
    owner.post(KEYS, KEY)
    zone.set(f"one._domainkey.{NAME}", ("TXT", txt_record(PAIR.public_b64)))
    with aws_requests() as first:
        owner.post(f"{KEYS}/k1/verify", None)
    with aws_requests() as second:
        owner.post(f"{KEYS}/k1/verify", None)
    operations = [each.operation for each in first]
    assert operations[-1] == "TransactWriteItems"
    assert [each.operation for each in second] == [*operations[:-1], "UpdateItem"]
