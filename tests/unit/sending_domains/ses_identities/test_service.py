"""Sending domains are identities of Amazon SES, which is a stand-in here."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import due
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.key_pair import KeyPair, generate_key, read_private
from chalicelib.dkim.sealed_key import sealed_key
from chalicelib.sending_domains import recheck, store
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.model import DomainStatus, SendingDomain
from chalicelib.sending_domains.recheck import reverify_due
from chalicelib.sending_domains.ses_identities import api
from chalicelib.sending_domains.ses_identities.schedule import next_look
from chalicelib.sending_domains.ses_identities.service import delete_due
from chalicelib.sending_domains.view import domain_view
from tests.ses_stand_in import SesStandIn, ses_stand_in
from tests.unit.key_pairs import PAIR
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import make_account, make_key
from tests.unit.sending_domains.examples import domain
from tests.unit.zones import Zone

pytestmark = pytest.mark.usefixtures("cloud")

NAME = "mail.example.test"
NOW = 1_769_850_000.0
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
VALID = DomainStatus(True, dkim_status="valid")


@pytest.fixture
def time() -> Iterator[Clock]:
    """The time, which a test moves."""
    with moving_clock(NOW) as moving:
        yield moving


@pytest.fixture(autouse=True)
def ses(monkeypatch: pytest.MonkeyPatch, zone: Zone, time: Clock) -> Iterator[SesStandIn]:
    """A stand-in for SES that mail leaves by; the domain's record is published."""
    monkeypatch.setattr(recheck, "_THREADS", 1)
    with ses_stand_in() as stand_in:
        values = {
            "TRANSPORT": "ses",
            "SES_REGION": "us-east-1",
            "SES_ACCESS_KEY_ID": "x",
            "SES_SECRET_ACCESS_KEY": "x",  # pragma: allowlist secret
            "SES_ENDPOINT": stand_in.url,
            "SES_CONFIGURATION_SET": "postfinch-test",
        }
        for name, value in values.items():
            monkeypatch.setenv(name, value)
        zone.set(f"s1._domainkey.{NAME}", ("TXT", txt_record(PAIR.public_b64)))
        api._client.cache_clear()
        yield stand_in
        api._client.cache_clear()


def sealed(pair: KeyPair = PAIR, selector: str = "s1", signing_domain: str = NAME) -> Any:
    return sealed_key(pair, selector, signing_domain)


def create(**fields: Any) -> SendingDomain:
    """Store a verified domain that is due."""
    new = domain(NAME, **{"status": VALID, "dkim": sealed(), "check_ms": int(NOW * 1000)} | fields)
    assert store.create(new)
    return new


def look(time: Clock, seconds: float = 0.0) -> dict[str, Any]:
    """Let the schedule run after some seconds; return the state that the API shows."""
    time.passes(seconds)
    reverify_due(time())
    delete_due(time())
    return shown()


def shown() -> dict[str, Any]:
    current = store.get(NAME)
    assert current is not None
    view: dict[str, Any] = domain_view(current, Scope(1, None))["ses"]
    return view


def test_a_new_domain_becomes_an_identity_with_its_own_key(ses: SesStandIn, time: Clock) -> None:
    make_account()
    answer = make_key().post("/api/v1/sending-domains", {"domain": NAME, "generate_dkim": True})
    assert answer.status == 200
    assert ses.requests == []  # the request does not wait for SES
    assert shown() == {"status": "pending"}
    look(time)
    identity = ses.identities[NAME]
    key = answer.body["results"]["dkim"]
    assert identity.selector == key["selector"]
    private = identity.request["DkimSigningAttributes"]["DomainSigningPrivateKey"]
    assert base64.b64decode(private)
    assert read_private(private, check=True).key_size == 1024
    assert identity.request["Tags"] == [{"Key": "postfinch-stage", "Value": settings().stage}]
    assert not identity.forwards_bounces


def test_its_state_is_read_every_minute_until_it_is_verified_and_then_daily(
    ses: SesStandIn, time: Clock
) -> None:
    create()
    assert look(time) == {"status": "pending"}
    ses.identities[NAME].dkim = "SUCCESS"
    assert look(time, MINUTE) == {"status": "verified"}
    before = len(ses.requests)
    look(time, HOUR)
    assert len(ses.requests) == before
    ses.identities[NAME].dkim = "FAILED"
    # The record is there: SES is asked to look again
    assert look(time, DAY) == {"status": "pending"}
    assert ses.identities[NAME].history == ["s1", "s1"]


def test_a_record_that_ses_does_not_find_is_shown(ses: SesStandIn, time: Clock, zone: Zone) -> None:
    zone.set(f"s1._domainkey.{NAME}")
    create(status=DomainStatus(True, cname_status="valid", dkim_status="invalid"))
    look(time)
    ses.identities[NAME].dkim = "FAILED"
    error = "SES did not find the DNS record of the DKIM key"
    assert look(time, MINUTE) == {"status": "failed", "error": error}


def test_nothing_fails_while_ses_is_away(ses: SesStandIn, time: Clock) -> None:
    create()
    ses.is_away = True
    state = look(time)
    assert state == {"status": "pending", "error": "ServiceUnavailableException: try again"}
    assert store.get(NAME).status.ownership_verified  # type: ignore[union-attr]
    ses.is_away = False
    assert look(time, MINUTE) == {"status": "pending"}
    assert NAME in ses.identities


def test_another_key_of_the_domain_is_the_identitys_within_a_minute(
    ses: SesStandIn, time: Clock
) -> None:
    create()
    look(time)
    ses.identities[NAME].dkim = "SUCCESS"
    look(time, MINUTE)
    before = store.get(NAME)
    assert before is not None
    after = replace(before, dkim=sealed(generate_key(1024), "s2"))
    assert next_look(after, time()) == time()
    store.save(before, replace(after, check_ms=int(time() * 1000)))
    assert look(time) == {"status": "pending"}
    assert ses.identities[NAME].selector == "s2"


def test_the_same_selector_with_another_key_is_noticed(ses: SesStandIn, time: Clock) -> None:
    create()
    look(time)
    before = store.get(NAME)
    assert before is not None
    pair = generate_key(1024)
    store.save(before, replace(before, dkim=sealed(pair), check_ms=int(time() * 1000)))
    look(time)
    private = ses.identities[NAME].request["DkimSigningAttributes"]["DomainSigningPrivateKey"]
    assert (
        read_private(private, check=False).private_numbers()
        == read_private(pair.private_pem, check=False).private_numbers()
    )


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (None, "the domain has no DKIM key"),
        (sealed(signing_domain="example.test"), "its DKIM key signs for example.test"),
    ],
)
def test_a_key_that_ses_cannot_have_is_named(
    ses: SesStandIn, time: Clock, key: Any, error: str
) -> None:
    create(dkim=key, status=DomainStatus(True, cname_status="valid"))
    assert look(time) == {"status": "failed", "error": error}
    assert ses.identities == {}


def test_a_key_that_is_too_long_for_ses_is_named(
    monkeypatch: pytest.MonkeyPatch, ses: SesStandIn, time: Clock
) -> None:
    from chalicelib.sending_domains.ses_identities import service

    monkeypatch.setattr(service, "LONGEST_BITS", 512)
    create()
    assert "SES takes no DKIM key of" in look(time)["error"]


def test_an_identity_of_somebody_else_is_used_and_left_alone(ses: SesStandIn, time: Clock) -> None:
    create()
    others = {"EmailIdentity": NAME, "Tags": [{"Key": "postfinch-stage", "Value": "other"}]}
    ses.answer("POST", "/v2/email/identities", others)
    ses.identities[NAME].dkim = "SUCCESS"
    assert look(time) == {"status": "verified"}
    current = store.get(NAME)
    assert current is not None
    store.delete(current, *further_keys.deletion(NAME))
    assert delete_due(time()) == {"kept": 1}
    assert ses.identities[NAME].history == [""]


def test_the_identity_goes_with_its_domain_also_while_ses_is_away(
    ses: SesStandIn, time: Clock
) -> None:
    create()
    look(time)
    current = store.get(NAME)
    assert current is not None
    store.delete(current, *further_keys.deletion(NAME))
    ses.is_away = True
    assert delete_due(time()) == {"failed": 1}
    ses.is_away = False
    time.passes(MINUTE)
    assert delete_due(time()) == {"deleted": 1}
    assert ses.identities == {}
    assert due.find(store.DELETED_IDENTITIES, int(time() * 1000)) == []


def test_a_name_that_is_registered_again_keeps_its_identity(ses: SesStandIn, time: Clock) -> None:
    create()
    look(time)
    current = store.get(NAME)
    assert current is not None
    store.delete(current, *further_keys.deletion(NAME))
    assert store.create(domain(NAME, 2, dkim=sealed(generate_key(1024), "theirs"), check_ms=1))
    assert delete_due(time()) == {"kept": 1}
    reverify_due(time())
    assert ses.identities[NAME].selector == "theirs"


def test_a_crash_after_the_identity_was_made_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, ses: SesStandIn, time: Clock
) -> None:
    create()
    with monkeypatch.context() as patch:
        patch.setattr(store, "save", lambda *_: 1 / 0)
        reverify_due(time())
    assert NAME in ses.identities
    assert look(time, 10) == {"status": "pending"}
    assert len(ses.identities) == 1


def test_without_ses_nothing_is_asked_and_nothing_shown(
    monkeypatch: pytest.MonkeyPatch, ses: SesStandIn, time: Clock
) -> None:
    monkeypatch.setenv("TRANSPORT", "smtp")
    create()
    reverify_due(time())
    assert delete_due(time()) == {}
    current = store.get(NAME)
    assert current is not None
    assert "ses" not in domain_view(current, Scope(1, None))
    assert ses.requests == []
