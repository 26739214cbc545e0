"""``POST /sending-domains``."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core import clock, due
from chalicelib.core.settings import settings
from chalicelib.dkim.key_pair import generate_key, read_public
from chalicelib.sending_domains import store
from chalicelib.sending_domains.claims import store as claims
from chalicelib.sending_domains.routes import create_domain
from chalicelib.tracking_domains import store as tracking_domains
from chalicelib.tracking_domains.model import TrackingDomain
from tests.unit.sending_domains.requests import refused, request, results

pytestmark = pytest.mark.usefixtures("cloud")

PAIR = generate_key(1024)
NOW = 1_769_850_000.0


def create(
    domain: str = "mail.example.test", *, account: int = 1, part: int = 0, **body: Any
) -> Any:
    return results(create_domain(request({"domain": domain, **body}, account=account, part=part)))


def refusal(
    domain: Any = "mail.example.test", *, account: int = 1, part: int = 0, **body: Any
) -> Any:
    body = {"domain": domain, **body} if domain is not None else body
    return refused(lambda: create_domain(request(body, account=account, part=part)))


@pytest.mark.spec("4.4-t1")
@pytest.mark.spec("2.5-t1")
@pytest.mark.spec("2.5-t4")
def test_a_domain_is_created_with_a_key_of_its_own() -> None:
    with clock.use(lambda: NOW):
        made = create()
    assert made["message"] == "Successfully Created domain."
    assert made["domain"] == "mail.example.test"
    key = made["dkim"]
    assert set(key) == {"public", "selector", "signing_domain", "headers"}
    assert (key["selector"], key["signing_domain"]) == ("scph0126", "mail.example.test")
    assert key["headers"] == "from:to:subject:date"
    assert read_public(key["public"]).key_size == 1024
    stored = store.get("mail.example.test")
    assert stored is not None
    assert stored.dkim is not None
    assert stored.dkim.public == key["public"]
    assert (stored.created, stored.status.ownership_verified) == (NOW, False)


@pytest.mark.spec("8-t9")
def test_a_longer_key_is_made_on_request() -> None:
    made = create(dkim_key_length=2048)
    assert read_public(made["dkim"]["public"]).key_size == 2048
    assert refusal("b.test", dkim_key_length=100)["code"] == "1300"
    create("b.test", dkim_key_length=100, generate_dkim=False)


def test_a_given_key_is_kept_and_its_domain_shows_it() -> None:
    key = {"private": PAIR.private_pem, "public": PAIR.public_b64, "selector": "mine"}
    assert create(dkim=key) == {
        "message": "Successfully Created domain.",
        "domain": "mail.example.test",
    }
    stored = store.get("mail.example.test")
    assert stored is not None
    assert stored.dkim is not None
    assert (stored.dkim.selector, stored.dkim.public) == ("mine", PAIR.public_b64)


@pytest.mark.spec("2.5-r1")
def test_a_key_that_cannot_be_used_keeps_the_domain_from_being_created() -> None:
    error = refusal(dkim={"private": PAIR.private_pem, "public": generate_key(1024).public_b64})
    assert (error["status"], error["code"]) == (422, "1300")
    assert "do not match" in error["description"]
    assert store.get("mail.example.test") is None


def test_names_for_a_key_to_be_made_are_taken() -> None:
    assert create(dkim={"selector": "mine", "headers": "from:to"})["dkim"]["selector"] == "mine"


def test_without_generate_dkim_there_is_no_key() -> None:
    assert "dkim" not in create(generate_dkim=False)
    stored = store.get("mail.example.test")
    assert stored is not None
    assert stored.dkim is None


def test_nulls_are_as_good_as_nothing() -> None:
    made = create(
        generate_dkim=None,
        dkim=None,
        dkim_key_length=None,
        tracking_domain=None,
        shared_with_subaccounts=None,
    )
    assert "dkim" in made


@pytest.mark.parametrize(
    ("domain", "reason"),
    [
        ("nodot", "no dot"),
        ("", "no dot"),
        ("a..test", "too short"),
        ("under_score.test", "invalid characters"),
        ("spa ce.test", "invalid characters"),
        ("192.0.2.1", "a number"),
        ("x" * 300 + ".test", "more than 253"),
        (".".join("x" * 40) + ".test", "too many parts"),
    ],
)
def test_what_is_no_domain_is_refused_with_the_reason(domain: str, reason: str) -> None:
    error = refusal(domain)
    assert (error["status"], error["code"]) == (422, "1300")
    assert error["description"].startswith("Error validating domain name syntax for domain: '")
    assert reason in error["description"]


def test_a_missing_domain_and_one_of_another_type_are_told_apart() -> None:
    assert refusal(None)["code"] == "1400"
    assert refusal(7)["code"] == "1300"


def test_an_international_name_is_kept_in_a_labels() -> None:
    assert create("Bücher.test")["domain"] == "xn--bcher-kva.test"
    assert refusal("BÜCHER.test")["code"] == "1602"
    found = store.get("bücher.test")
    assert found is not None
    assert found.dkim is not None
    assert found.dkim.signing_domain == "xn--bcher-kva.test"


@pytest.mark.spec("7-t25")
@pytest.mark.parametrize("domain", ["gmail.com", "mail.GMAIL.com", "co.uk", "github.io", "b.ck"])
def test_a_mailbox_providers_domain_and_a_public_suffix_are_restricted(domain: str) -> None:
    error = refusal(domain)
    assert (error["status"], error["code"]) == (400, "7000")
    assert error["message"] == "Restricted domain"


def test_the_operator_says_which_domains_are_restricted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTRICTED_DOMAINS", "ours.test")
    settings.cache_clear()
    assert refusal("a.ours.test")["code"] == "7000"
    create("notours.test")
    create("gmail.com")


@pytest.mark.spec("7-t27")
def test_a_domain_of_another_account_and_its_subdomains_are_refused() -> None:
    create("example.test")
    for domain in ("example.test", "deep.mail.example.test"):
        error = refusal(domain, account=2)
        assert (error["status"], error["code"]) == (400, "7004")
        assert error["message"] == "Domain in use by another account"


def test_a_domain_that_the_account_already_has_is_a_conflict() -> None:
    create()
    for part in (0, 7):
        error = refusal(part=part)
        assert (error["status"], error["code"]) == (409, "1602")


@pytest.mark.spec("4.4-t1")
def test_a_domain_that_compliance_blocks_is_refused() -> None:
    claims.block("example.test")
    error = refusal()
    assert (error["status"], error["code"]) == (400, "7000")


@pytest.mark.spec("2.5-t5")
@pytest.mark.spec("2.5-t6")
def test_the_subaccount_of_the_request_owns_the_domain_and_cannot_share_it() -> None:
    create(part=7)
    stored = store.get("mail.example.test")
    assert stored is not None
    assert stored.subaccount_id == 7
    assert refusal("b.test", part=7, shared_with_subaccounts=True)["code"] == "1300"
    create("c.test", shared_with_subaccounts=True)
    shared = store.get("c.test")
    assert shared is not None
    assert shared.shared_with_subaccounts


@pytest.mark.spec("2.5-t2")
@pytest.mark.spec("7-t15")
def test_a_tracking_domain_must_be_registered_for_the_same_subaccount() -> None:
    tracking_domains.create(TrackingDomain("t.test", 1, 0.0))
    tracking_domains.create(TrackingDomain("t7.test", 1, 0.0, subaccount_id=7))
    tracking_domains.create(TrackingDomain("other.test", 2, 0.0))
    create("a.test", tracking_domain="T.test")
    create("b.test", part=7, tracking_domain="t7.test")
    stored = store.get("a.test")
    assert stored is not None
    assert stored.tracking_domain == "t.test"
    for part, name in ((0, "t7.test"), (7, "t.test"), (0, "other.test"), (0, "unknown.test")):
        error = refusal("c.test", part=part, tracking_domain=name)
        assert (error["status"], error["code"]) == (400, "1200")
        assert (
            error["description"] == f"Tracking domain '{name}' is not a registered tracking domain"
        )
    assert store.get("c.test") is None


def test_a_new_domain_is_due_to_be_dropped_after_two_weeks() -> None:
    with clock.use(lambda: NOW):
        create()
    (entry,) = due.find(store.CONCERN, int((NOW + 14 * 86_400) * 1000))
    assert entry.key == "mail.example.test"
    assert due.find(store.CONCERN, int((NOW + 14 * 86_400 - 1) * 1000)) == []
