"""A provider's user is matched by subject, then by verified address, else may join by domain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import config_cache
from chalicelib.core.dynamo import AnyItem, Table
from chalicelib.core.scope import Scope
from chalicelib.single_sign_on import discovery
from chalicelib.users import cookies, invitations
from chalicelib.users.model import MailedLink, User, digest
from chalicelib.users.store import sessions, users
from chalicelib.users.store.sessions import Session
from tests.unit.people import make_account, make_subaccount, make_user
from tests.unit.single_sign_on.conftest import Configure
from tests.unit.single_sign_on.provider import CREDENTIALS, SECRET, Browser, Provider
from tests.unit.single_sign_on.test_attacks import CONSOLE, FAILED

EMAIL = "ann@acme.example"


def by_address(email: str = EMAIL) -> User:
    user = users.by_address(email)
    assert user
    return user


def session_of(browser: Browser) -> Session:
    presented = cookies.read_cookie(browser.cookies["session"])
    assert presented
    session = sessions.get(presented.user_id, presented.session_id)
    assert session
    return session


def lines_about(user: User, resource: str = "users") -> list[AnyItem]:
    lines: Table[AnyItem] = Table("audit")
    query = {"key": f"1#{resource}#{user.id}"}
    return list(lines.query_all("#resource_key = :key", query, index="by_resource"))


def test_a_user_is_known_by_subject_after_the_first_sign_in(provider: Provider) -> None:
    user = make_user(email=EMAIL)
    assert Browser().sign_in(provider) == CONSOLE
    assert by_address().identities == {"acme": "subject-1"}
    provider.claims = {"email": "ann.new@acme.example", "email_verified": False}
    browser = Browser()
    assert browser.sign_in(provider) == CONSOLE
    assert session_of(browser).user_id == user.id
    assert session_of(browser).method == "acme"
    linking = [each["actor_id"] for each in lines_about(user) if "identities" in each["changes"]]
    assert linking == [user.id]


def test_another_subject_with_the_same_address_is_refused(provider: Provider) -> None:
    """The provider may have given a leaver's address to somebody else."""
    make_user(email=EMAIL)
    assert Browser().sign_in(provider) == CONSOLE
    provider.claims = {"sub": "subject-2"}
    assert Browser().sign_in(provider) == f"{FAILED}refused"


def test_an_invited_user_becomes_active(provider: Provider) -> None:
    make_user(email="Ann@Acme.example", status="invited", invitation=MailedLink("x", 2e9))
    assert Browser().sign_in(provider) == CONSOLE
    user = by_address()
    assert (user.status, user.invitation, user.name) == ("active", None, "Ann")


def test_a_disabled_user_is_refused(provider: Provider) -> None:
    make_user()
    user = make_user(email=EMAIL)
    assert Browser().sign_in(provider) == CONSOLE
    users.change(user.id, lambda each: replace(each, status="disabled"))
    assert Browser().sign_in(provider) == f"{FAILED}refused"
    outcomes = [each["outcome"] for each in lines_about(user, "sign-in")]
    assert sorted(outcomes) == ["done", "refused"]


def test_a_user_of_another_account_is_refused(provider: Provider) -> None:
    make_account(2)
    make_user(2, email=EMAIL)
    browser = Browser()
    assert browser.sign_in(provider) == f"{FAILED}not_invited"
    assert by_address().identities == {}


def test_an_erased_users_subject_is_free_again(provider: Provider, configure: Configure) -> None:
    make_user()
    user = make_user(email=EMAIL)
    assert Browser().sign_in(provider) == CONSOLE
    assert users.by_identity("acme", "subject-1") == users.get(user.id)
    users.delete(by_address(), [])
    assert users.by_identity("acme", "subject-1") is None
    config: Table[AnyItem] = Table("config")
    assert config.get(f"identity#acme#{digest('subject-1')}", "user") is None
    assert Browser().sign_in(provider) == f"{FAILED}not_invited"


def test_a_domain_may_join_with_its_role(provider: Provider, configure: Configure) -> None:
    configure(domains={"Acme.example": "reporting"}, account=2)
    make_account(2)
    browser = Browser()
    assert browser.sign_in(provider) == CONSOLE
    user = by_address()
    assert (user.account_id, user.role, user.status) == (2, "reporting", "active")
    assert browser.is_signed_in
    assert Browser().sign_in(provider) == CONSOLE
    assert len(users.in_scope(Scope(2, None))) == 1


def test_who_joins_needs_room_in_the_account(
    provider: Provider, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invitations, "MOST_USERS", 1)
    configure(domains={"acme.example": "reporting"})
    make_user()
    assert Browser().sign_in(provider) == f"{FAILED}refused"
    assert len(users.in_scope(Scope(1, None))) == 1


@pytest.mark.parametrize(
    "email",
    [
        "ann@evil.example",
        "ann@sub.acme.example",
        "ann@acme.example.evil.example",
        "ann@acme.exampl",
    ],
)
def test_another_domain_may_not_join(provider: Provider, configure: Configure, email: str) -> None:
    configure(domains={"acme.example": "admin"})
    provider.claims = {"email": email}
    assert Browser().sign_in(provider) == f"{FAILED}not_invited"
    assert users.by_address(email) is None


def test_an_unverified_address_does_not_join(provider: Provider, configure: Configure) -> None:
    configure(domains={"acme.example": "admin"})
    provider.claims = {"email_verified": None}
    assert Browser().sign_in(provider) == f"{FAILED}unverified"
    configure(domains={"acme.example": "admin"}, verified_claim="xms_edov")
    provider.claims = {"email_verified": True}
    assert Browser().sign_in(provider) == f"{FAILED}unverified"
    provider.claims = {"email_verified": None, "xms_edov": "1"}
    assert Browser().sign_in(provider) == CONSOLE


GROUPS = {"role_claim": "groups", "roles": {"mail-admins": "admin", "mail": "templates"}}


@pytest.mark.parametrize(
    ("claims", "role"),
    [
        ({"groups": ["mail"]}, "templates"),
        ({"groups": "mail"}, "templates"),
        ({"groups": ["other", "mail", "mail-admins"]}, "admin"),
        ({"groups": ["other"]}, None),
        ({"groups": {"mail": 1}}, None),
        ({}, None),
    ],
)
def test_a_group_gives_the_role_at_each_sign_in(
    provider: Provider, configure: Configure, claims: dict[str, Any], role: str | None
) -> None:
    configure(**GROUPS)
    make_user()
    make_user(email=EMAIL, role="reporting")
    provider.claims = claims
    browser = Browser()
    assert browser.sign_in(provider) == (CONSOLE if role else f"{FAILED}not_invited")
    assert by_address().role == (role or "reporting")
    assert browser.is_signed_in == bool(role)


def test_a_group_of_another_role_ends_the_earlier_sessions(
    provider: Provider, configure: Configure
) -> None:
    configure(**GROUPS, default_role="reporting")
    make_user()
    make_user(email=EMAIL, role="reporting")
    provider.claims = {"groups": ["mail-admins"]}
    first = Browser()
    assert first.sign_in(provider) == CONSOLE
    provider.claims = {"groups": []}
    assert Browser().sign_in(provider) == CONSOLE
    assert by_address().role == "reporting"
    assert not first.is_signed_in


def test_a_nested_claim_and_one_with_dots_in_its_name(
    provider: Provider, configure: Configure
) -> None:
    make_user()
    make_user(email=EMAIL, role="reporting")
    for name, claims in (
        ("realm_access.roles", {"realm_access": {"roles": ["mail"]}}),
        ("https://acme.example/roles", {"https://acme.example/roles": ["mail-admins"]}),
    ):
        configure(**GROUPS | {"role_claim": name})
        provider.claims = claims
        assert Browser().sign_in(provider) == CONSOLE
    assert by_address().role == "admin"


def test_the_last_administrator_keeps_the_role(provider: Provider, configure: Configure) -> None:
    configure(**GROUPS)
    make_user(email=EMAIL)
    provider.claims = {"groups": ["mail"]}
    browser = Browser()
    assert browser.sign_in(provider) == CONSOLE
    assert by_address().role == "admin"
    assert browser.is_signed_in


def test_a_user_of_a_subaccount_gets_no_role_of_the_whole_account(
    provider: Provider, configure: Configure
) -> None:
    configure(**GROUPS)
    make_user(email=EMAIL, role="reporting", subaccount_id=make_subaccount().id)
    provider.claims = {"groups": ["mail-admins"]}
    assert Browser().sign_in(provider) == CONSOLE
    assert by_address().role == "reporting"


def test_claims_that_the_token_lacks_come_from_the_userinfo(
    provider: Provider, configure: Configure
) -> None:
    configure(**GROUPS)
    make_user()
    make_user(email=EMAIL, role="reporting")
    provider.claims = {"email": None, "email_verified": None}
    info = {"email": EMAIL, "email_verified": True, "groups": ["mail-admins"]}
    provider.userinfo = info | {"sub": "subject-2"}
    assert Browser().sign_in(provider) == f"{FAILED}failed"
    provider.userinfo = info
    assert Browser().sign_in(provider) == CONSOLE
    assert by_address().role == "admin"


TRUST = {"trust_second_factor": {"amr": ["mfa", "otp"], "acr": ["gold"]}}


@pytest.mark.parametrize(
    ("fields", "claims", "shows"),
    [
        ({}, {"amr": ["mfa"], "acr": "gold"}, False),
        (TRUST, {"amr": ["pwd", "mfa"]}, True),
        (TRUST, {"acr": "gold"}, True),
        (TRUST, {"amr": ["pwd"], "acr": "silver"}, False),
        (TRUST, {"amr": []}, False),
        (TRUST, {}, False),
    ],
)
def test_the_providers_word_for_a_second_factor_counts_where_it_is_configured(
    provider: Provider,
    configure: Configure,
    fields: dict[str, Any],
    claims: dict[str, Any],
    shows: bool,
) -> None:
    configure(**fields, account=2)
    make_account(2, tfa_required=True)
    make_user(2, email=EMAIL)
    provider.claims = claims
    browser = Browser()
    assert browser.sign_in(provider) == CONSOLE
    assert session_of(browser).second_factor == shows
    config_cache.clear_cache()
    reply = browser.get("/api/v1/templates")
    assert reply.status == (200 if shows else 403)
    assert shows or reply.error["code"] == "2fa_setup_required"
    assert browser.is_signed_in  # so that a second factor can be set up


def test_a_user_shows_the_second_factor_that_the_provider_is_not_trusted_with(
    provider: Provider, configure: Configure
) -> None:
    make_user(email=EMAIL, totp=b"sealed")
    provider.claims = {"amr": ["mfa"]}
    browser = Browser()
    assert browser.sign_in(provider) == CONSOLE
    assert browser.get("/api/v1/templates").error["code"] == "2fa_setup_required"
    configure(**TRUST)
    assert browser.sign_in(provider) == CONSOLE
    assert browser.get("/api/v1/templates").status == 200


def test_the_client_proves_itself_as_the_provider_wants(
    provider: Provider,
) -> None:
    make_user(email=EMAIL)
    assert Browser().sign_in(provider) == CONSOLE
    provider.configuration = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    discovery.clear_cache()
    assert Browser().sign_in(provider) == CONSOLE
    assert provider.credentials == [CREDENTIALS, SECRET]


def test_the_providers_are_listed_by_name_only(provider: Provider) -> None:
    reply = Browser().get("/api/v1/sign-in/providers")
    assert reply.body == {"results": [{"id": "acme", "name": "Acme"}]}
