"""Look up the records that the local DNS publishes for domains of the service."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains import store
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.further_keys.model import FurtherKey
from infrastructure.local.dns.records import ServiceRecords
from tests.unit import key_pairs
from tests.unit.inbound_domains.examples import store_inbound_domain
from tests.unit.sending_domains.accounts import create_account
from tests.unit.sending_domains.examples import domain
from tests.unit.tracking_domains.examples import store_tracking_domain

pytestmark = pytest.mark.usefixtures("cloud")

PUBLIC, OTHER = key_pairs.PAIR.public_b64, key_pairs.OTHER.public_b64
lookup = ServiceRecords().lookup


def create(name: str, key: DkimKey | None = None, **fields: object) -> None:
    store.create(domain(name, dkim=key or DkimKey("s1", name, PUBLIC, b"s"), **fields))


def test_a_domain_publishes_its_key_and_points_to_the_mail_domain() -> None:
    create("shop.test")
    assert lookup("s1._domainkey.shop.test") == [("TXT", txt_record(PUBLIC))]
    assert lookup("S1._DOMAINKEY.Shop.Test.") == [("TXT", txt_record(PUBLIC))]
    assert lookup("shop.test") == [("CNAME", "postfinch.test"), ("MX", "10 postfinch.test")]
    for name in ("s2._domainkey.shop.test", "www.shop.test", "other.test", "shop.com"):
        assert lookup(name) is None


def test_an_enterprise_domain_points_to_the_mail_domain_of_its_tenant() -> None:
    create_account(2, enterprise=True)
    create("big.test", account=2)
    assert lookup("big.test") == [
        ("CNAME", "2.mail.postfinch.test"),
        ("MX", "10 2.mail.postfinch.test"),
    ]


def test_every_additional_key_is_published_under_its_selector() -> None:
    create("shop.test")
    shop = store.get("shop.test")
    assert shop is not None
    key = FurtherKey("k1", DkimKey("s2", "shop.test", OTHER, b"s"), 1.0)
    further_keys.add(shop, key)
    assert lookup("s2._domainkey.shop.test") == [("TXT", txt_record(OTHER))]
    assert lookup("s1._domainkey.shop.test") == [("TXT", txt_record(PUBLIC))]


def test_a_key_of_a_subdomain_is_published_at_its_signing_domain() -> None:
    create("mail.shop.test", DkimKey("s1", "shop.test", PUBLIC, b"s"))
    assert lookup("s1._domainkey.shop.test") == [("TXT", txt_record(PUBLIC))]
    assert lookup("s1._domainkey.mail.shop.test") is None
    create("shop.test", replace(DkimKey("s1", "shop.test", OTHER, b"s"), selector="own"))
    assert lookup("own._domainkey.shop.test") == [("TXT", txt_record(OTHER))]
    assert lookup("s1._domainkey.shop.test") == [("TXT", txt_record(PUBLIC))]


def test_a_tracking_domain_points_to_this_machine() -> None:
    store_tracking_domain("track.shop.test")
    assert lookup("track.shop.test") == [("CNAME", "track.postfinch.test")]
    for own in ("track.postfinch.test", "postfinch.test"):
        records = lookup(own)
        assert records is not None
        assert ("A", "127.0.0.1") in records


def test_an_inbound_domain_gets_its_mail_from_this_machine() -> None:
    store_inbound_domain("in.shop.test")
    store_inbound_domain("broken-in.test")
    assert lookup("in.shop.test") == [("MX", "10 postfinch.test")]
    assert lookup("broken-in.test") == [("MX", "10 wrong.invalid")]
    assert lookup("a.in.shop.test") is None


def test_names_that_begin_with_broken_get_wrong_records() -> None:
    create("broken-shop.test")
    store_tracking_domain("broken-track.test")
    assert lookup("s1._domainkey.broken-shop.test") == [
        ("TXT", "v=DKIM1; k=rsa; h=sha256; p=wrong")
    ]
    assert lookup("broken-shop.test") == [("CNAME", "wrong.invalid"), ("MX", "10 wrong.invalid")]
    assert lookup("broken-track.test") == [("CNAME", "wrong.invalid")]


def test_all_names_have_the_records_that_a_lookup_answers() -> None:
    create_account(1)
    create("shop.test")
    create("mail.shop.test", DkimKey("s1", "shop.test", OTHER, b"s"))
    create("broken-shop.test")
    create("shop.example")
    shop = store.get("shop.test")
    assert shop is not None
    further_keys.add(shop, FurtherKey("k1", DkimKey("s2", "shop.test", OTHER, b"s"), 1.0))
    store_tracking_domain("track.shop.test")
    store_inbound_domain("in.shop.test")
    store_inbound_domain("mail.shop.test")
    records = ServiceRecords().all()
    assert set(records) == {
        *("postfinch.test", "track.postfinch.test"),
        *("shop.test", "s1._domainkey.shop.test", "s2._domainkey.shop.test"),
        *("mail.shop.test", "broken-shop.test", "s1._domainkey.broken-shop.test"),
        *("_dmarc.shop.test", "_dmarc.mail.shop.test", "track.shop.test"),
        "in.shop.test",
    }
    assert records == {name: lookup(name) for name in records}
