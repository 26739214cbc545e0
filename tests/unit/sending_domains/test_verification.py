"""``POST /sending-domains/{domain}/verify``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.core.settings import settings
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains import store, verification
from chalicelib.sending_domains.lookup import mail_domain
from chalicelib.sending_domains.model import DomainStatus, SendingDomain
from chalicelib.sending_domains.routes import verify_domain
from tests.unit.key_pairs import OTHER, PAIR
from tests.unit.sending_domains.accounts import create_account
from tests.unit.sending_domains.conftest import Outbox
from tests.unit.sending_domains.examples import domain
from tests.unit.sending_domains.requests import error_of, request, results
from tests.unit.zones import Zone

PUBLIC = PAIR.public_b64
NAME = "mail.example.test"
KEY = DkimKey("s1", NAME, PUBLIC, b"sealed")
RECORD = f"s1._domainkey.{NAME}"
SYSTEM = "postfinch.test"
NOW = 1_769_850_000.0


@pytest.fixture(autouse=True)
def new_domain(zone: Zone, outbox: Outbox) -> None:
    store.create(domain(dkim=KEY, status=DomainStatus(), unverified_since=NOW))


def verify(name: str = NAME, *, account: int = 1, part: int = 0, **body: Any) -> Any:
    return results(verify_domain(request(body, account=account, part=part), name))


def refusal(name: str = NAME, *, account: int = 1, part: int = 0, **body: Any) -> dict[str, Any]:
    return error_of(lambda: verify_domain(request(body, account=account, part=part), name))


def load(name: str = NAME) -> SendingDomain:
    sending_domain = store.get(name)
    assert sending_domain is not None
    return sending_domain


@pytest.mark.spec("4.4-t2")
@pytest.mark.spec("3-t10")
@pytest.mark.spec("2.5-r2")
def test_a_dkim_record_verifies_the_domain(zone: Zone) -> None:
    zone.set(RECORD, ("TXT", txt_record(PUBLIC)))
    view = verify(dkim_verify=True)
    assert view == {
        "ownership_verified": True,
        "spf_status": "unverified",
        "dkim_status": "valid",
        "cname_status": "unverified",
        "mx_status": "unverified",
        "abuse_at_status": "unverified",
        "postmaster_at_status": "unverified",
        "verification_mailbox_status": "unverified",
        "compliance_status": "valid",
        "dns": {"dkim_record": txt_record(PUBLIC)},
    }
    assert load().may_send
    assert load().signing_key == KEY


@pytest.mark.spec("3-t10")
@pytest.mark.spec("2.5-r3")
def test_a_cname_verifies_the_domain_but_gives_it_no_signing_key(zone: Zone) -> None:
    zone.set(NAME, ("CNAME", SYSTEM))
    view = verify(cname_verify=True)
    assert (view["ownership_verified"], view["cname_status"]) == (True, "valid")
    assert view["dns"] == {"cname_record": SYSTEM}
    assert load().takes_bounces
    assert load().signing_key is None


def test_only_requested_checks_are_made(zone: Zone) -> None:
    assert "dns" not in verify()
    assert "dns" not in verify(dkim_verify=False, cname_verify=False)
    assert zone.queries == []
    verify(dkim_verify=True)
    assert set(zone.queries) == {RECORD, SYSTEM}  # the addresses for SPF


@pytest.mark.spec("3-t13")
def test_missing_records_make_the_statuses_invalid_with_a_reason() -> None:
    view = verify(dkim_verify=True, cname_verify=True)
    assert (view["dkim_status"], view["cname_status"]) == ("invalid", "invalid")
    assert view["ownership_verified"] is False
    assert view["dns"] == {
        "dkim_record": "",
        "dkim_error": f"DNS DKIM query error at {RECORD}: no TXT record",
        "cname_record": "",
        "cname_error": f"{NAME} has no CNAME record; it should lead to {SYSTEM}",
    }


@pytest.mark.spec("3-t13")
def test_a_first_check_without_an_answer_from_the_dns_is_pending(zone: Zone) -> None:
    zone.failing.add(RECORD)
    view = verify(dkim_verify=True)
    assert view["dkim_status"] == "pending"
    assert "gave no answer" in view["dns"]["dkim_error"]
    zone.failing.clear()
    zone.set(RECORD, ("TXT", txt_record(PUBLIC)))
    assert verify(dkim_verify=True)["dkim_status"] == "valid"
    zone.failing.add(RECORD)
    assert verify(dkim_verify=True)["dkim_status"] == "valid", (
        "a valid check stays valid without an answer"
    )
    zone.failing.clear()
    zone.clear(RECORD)
    view = verify(dkim_verify=True)
    assert (view["dkim_status"], view["ownership_verified"]) == ("invalid", False)


def test_one_valid_check_is_enough(zone: Zone) -> None:
    zone.set(NAME, ("CNAME", SYSTEM))
    view = verify(dkim_verify=True, cname_verify=True)
    assert (view["dkim_status"], view["cname_status"]) == ("invalid", "valid")
    assert view["ownership_verified"] is True


def test_a_key_published_elsewhere_proves_nothing_about_the_domain(zone: Zone) -> None:
    elsewhere = DkimKey("s1", "attacker.test", PUBLIC, b"sealed")
    store.create(domain("victim.test", dkim=elsewhere, status=DomainStatus()))
    zone.set("s1._domainkey.attacker.test", ("TXT", txt_record(PUBLIC)))
    view = verify("victim.test", dkim_verify=True)
    assert (view["dkim_status"], view["ownership_verified"]) == ("valid", False)
    above = DkimKey("s1", "shop.test", PUBLIC, b"sealed")
    store.create(domain("mail.shop.test", dkim=above, status=DomainStatus()))
    zone.set("s1._domainkey.shop.test", ("TXT", txt_record(PUBLIC)))
    assert verify("mail.shop.test", dkim_verify=True)["ownership_verified"] is True


def test_the_dkim_check_of_a_domain_without_a_key_is_invalid() -> None:
    store.create(domain("b.test", dkim=None, status=DomainStatus()))
    view = verify("b.test", dkim_verify=True)
    assert view["dkim_status"] == "invalid"
    assert view["dns"]["dkim_error"] == "b.test has no DKIM key"


@pytest.mark.spec("2.5-r3")
@pytest.mark.spec("2.5-r4")
def test_enterprise_accounts_have_their_own_mail_domain_and_can_verify_by_mx(zone: Zone) -> None:
    create_account(2, enterprise=True)
    create_account(1)
    assert mail_domain(1) == SYSTEM
    assert mail_domain(2) == f"2.mail.{SYSTEM}"
    store.create(domain("big.test", account=2, status=DomainStatus(), dkim=None))
    zone.set("big.test", ("CNAME", SYSTEM))
    assert verify("big.test", account=2, cname_verify=True)["cname_status"] == "invalid"
    zone.set("big.test", ("CNAME", f"2.mail.{SYSTEM}"))
    assert verify("big.test", account=2, cname_verify=True)["cname_status"] == "valid"
    zone.set("big.test", ("MX", f"10 2.mail.{SYSTEM}"))
    view = verify("big.test", account=2, mx_verify=True)
    assert (view["mx_status"], view["dns"]["mx_record"]) == ("valid", f"2.mail.{SYSTEM}")
    assert refusal(mx_verify=True)["status"] == 403


def test_the_mail_domain_is_a_setting(zone: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSTEM_DOMAIN", "EU.mail.test")
    settings.cache_clear()
    zone.set(NAME, ("CNAME", "eu.mail.test"))
    assert verify(cname_verify=True)["cname_status"] == "valid"


def test_only_a_domain_of_the_scope_can_be_verified() -> None:
    for account, part in ((2, 0), (1, 7)):
        assert refusal(account=account, part=part, dkim_verify=True)["code"] == "1600"


def test_a_flag_of_another_type_is_refused() -> None:
    assert refusal(dkim_verify="true")["code"] == "1300"


def test_a_flag_that_is_null_requests_no_check(outbox: Outbox) -> None:
    assert verify(dkim_verify=None, postmaster_at_verify=None)["dkim_status"] == "unverified"
    assert outbox.mails == []


def test_a_key_that_replaces_the_checked_key_meanwhile_stays_unverified(
    zone: Zone, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone.set(RECORD, ("TXT", txt_record(PUBLIC)))
    other = DkimKey("s2", NAME, OTHER.public_b64, b"sealed")
    before = load()
    real = verification.check_dns

    def slow(sending_domain: SendingDomain, names: list[str]) -> Any:
        outcome = real(sending_domain, names)
        store.save(before, replace(before, dkim=other))
        return outcome

    monkeypatch.setattr(verification, "check_dns", slow)
    assert verify(dkim_verify=True)["dkim_status"] == "unverified"
    assert load().dkim == other


@pytest.mark.spec("4.4-t2")
@pytest.mark.spec("3-t11")
@pytest.mark.parametrize(
    ("body", "to"),
    [
        ({"postmaster_at_verify": True}, "postmaster"),
        ({"abuse_at_verify": True}, "abuse"),
        (
            {"verification_mailbox_verify": True, "verification_mailbox": "susan.calvin"},
            "susan.calvin",
        ),
    ],
)
def test_a_mailbox_flag_mails_a_link_and_changes_no_status(
    outbox: Outbox, body: dict[str, Any], to: str
) -> None:
    view = verify(**body)
    (mail,) = outbox.mails
    assert mail.to == f"{to}@{NAME}"
    assert mail.link.startswith("http://localhost:8080/verify-domain/")
    assert view["ownership_verified"] is False
    unverified = ("abuse_at_status", "postmaster_at_status", "verification_mailbox_status")
    assert {view[name] for name in unverified} == {"unverified"}
    assert view.get("verification_mailbox") == (to if to == "susan.calvin" else None)
    assert mail.token not in repr(load()), "the stored record does not contain the token"


@pytest.mark.spec("3-t12")
@pytest.mark.parametrize("kind", ["postmaster_at", "abuse_at", "verification_mailbox"])
def test_the_mailed_token_verifies_the_domain_once(outbox: Outbox, kind: str) -> None:
    verify(**{f"{kind}_verify": True, "verification_mailbox": "susan"})
    token = {f"{kind}_token": outbox.mails[0].token}
    view = verify(**token)
    assert (view[f"{kind}_status"], view["ownership_verified"]) == ("valid", True)
    assert load().may_send
    assert load().signing_key is None
    assert not load().tokens


@pytest.mark.spec("3-t11")
def test_a_repeated_request_invalidates_the_previous_link(outbox: Outbox) -> None:
    verify(abuse_at_verify=True)
    verify(postmaster_at_verify=True)
    verify(abuse_at_verify=True)
    first, other, second = (mail.token for mail in outbox.mails)
    assert verify(abuse_at_token=first)["abuse_at_status"] == "unverified"
    assert verify(postmaster_at_token=other)["postmaster_at_status"] == "valid"
    assert verify(abuse_at_token=second)["abuse_at_status"] == "valid"


@pytest.mark.spec("3-t12")
def test_an_expired_token_and_one_of_another_mailbox_or_domain_change_nothing(
    outbox: Outbox,
) -> None:
    store.create(domain("b.test", status=DomainStatus(), dkim=None))
    with clock.use(lambda: NOW):
        verify(abuse_at_verify=True)
        verify("b.test", abuse_at_verify=True)
    own_token, other_token = (mail.token for mail in outbox.mails)
    with clock.use(lambda: NOW + settings().mailbox_token_lifetime):
        assert verify(abuse_at_token=own_token)["abuse_at_status"] == "unverified"
    with clock.use(lambda: NOW + 1):
        for wrong in (other_token, "", "nonsense", own_token[:-1], own_token + "A", "é"):
            view = verify(abuse_at_token=wrong)
            assert (view["abuse_at_status"], view["ownership_verified"]) == ("unverified", False)
        assert verify(postmaster_at_token=own_token)["postmaster_at_status"] == "unverified"
        assert verify(abuse_at_token=own_token)["abuse_at_status"] == "valid"
        assert verify(abuse_at_token=own_token)["abuse_at_status"] == "valid", (
            "using it again changes nothing"
        )


@pytest.mark.spec("2.5-t3")
def test_the_mailbox_that_confirmed_is_named_until_another_one_confirms(outbox: Outbox) -> None:
    def nominate(local_part: str) -> dict[str, Any]:
        return verify(verification_mailbox_verify=True, verification_mailbox=local_part)

    assert nominate("typo")["verification_mailbox"] == "typo"
    assert nominate("real")["verification_mailbox"] == "real"
    verify(verification_mailbox_token=outbox.mails[-1].token)
    view = nominate("other")
    assert outbox.mails[-1].to == f"other@{NAME}"
    assert (view["verification_mailbox"], view["verification_mailbox_status"]) == ("real", "valid")
    view = verify(verification_mailbox_token=outbox.mails[-1].token)
    assert (view["verification_mailbox"], view["verification_mailbox_status"]) == ("other", "valid")


def test_a_flag_together_with_its_token_mails_nothing(outbox: Outbox) -> None:
    verify(abuse_at_verify=True)
    token = outbox.mails[0].token
    assert verify(abuse_at_verify=True, abuse_at_token=token)["abuse_at_status"] == "valid"
    assert len(outbox.mails) == 1


@pytest.mark.spec("4.4-t2")
@pytest.mark.parametrize(
    ("mailbox", "code"),
    [
        (None, "1400"),
        ("", "1400"),
        ("postmaster", "1300"),
        ("Abuse", "1300"),
        ("two words", "1300"),
        ("a@b", "1300"),
        ("a\r\nBcc: b", "1300"),
        ("x" * 65, "1300"),
    ],
)
def test_a_nominated_mailbox_must_be_valid_and_not_postmaster_or_abuse(
    outbox: Outbox, mailbox: str | None, code: str
) -> None:
    error = refusal(verification_mailbox_verify=True, verification_mailbox=mailbox)
    assert (error["status"], error["code"]) == (422, code)
    assert outbox.mails == []
    assert load().tokens == {}


@pytest.mark.spec("4.4-t2")
@pytest.mark.parametrize(
    "body",
    [
        {"abuse_at_verify": True},
        {"postmaster_at_verify": True},
        {"verification_mailbox_verify": True, "verification_mailbox": "susan"},
        {"abuse_at_token": "x"},
    ],
)
def test_verification_by_mailbox_is_not_available_on_enterprise(
    outbox: Outbox, body: dict[str, Any]
) -> None:
    create_account(1, enterprise=True)
    assert refusal(**body)["status"] == 403
    assert outbox.mails == []


def test_a_mail_that_cannot_be_sent_is_an_error(outbox: Outbox) -> None:
    outbox.refuses = True
    error = refusal(abuse_at_verify=True)
    assert (error["status"], error["code"]) == (400, "1901")
    assert error["message"] == "Failed to generate message"


def test_verification_sets_the_time_of_the_next_check(zone: Zone) -> None:
    zone.set(NAME, ("CNAME", SYSTEM))
    with clock.use(lambda: NOW):
        verify(cname_verify=True)
    assert load().check_ms == int((NOW + settings().domain_recheck) * 1000)
