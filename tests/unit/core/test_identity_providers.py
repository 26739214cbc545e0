"""The setting of the OpenID Connect providers is checked at the start, field by field."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from chalicelib.core.identity_providers import ROLES, IdentityProvider, TrustedFactors, read
from chalicelib.core.settings import load
from chalicelib.users import roles

ACME = {
    "id": "acme",
    "name": "Acme",
    "issuer": "https://login.acme.example",
    "client_id": "postfinch",
}


def test_a_provider_with_every_field() -> None:
    fields = {
        "client_secret": "secret",  # pragma: allowlist secret
        "scopes": ["openid", "email", "groups"],
        "role_claim": "groups",
        "roles": {"mail": "admin"},
        "default_role": "reporting",
        "domains": {"Acme.example": "developer"},
        "account": 3,
        "verified_claim": "xms_edov",
        "trust_second_factor": {"amr": ["mfa"], "acr": ["gold"]},
        "private_network": True,
    }
    (provider,) = read(json.dumps([ACME | fields]))
    assert provider == IdentityProvider(
        "acme",
        "Acme",
        "https://login.acme.example",
        "postfinch",
        "secret",
        ("openid", "email", "groups"),
        "groups",
        {"mail": "admin"},
        "reporting",
        {"acme.example": "developer"},
        3,
        "xms_edov",
        TrustedFactors(("mfa",), ("gold",)),
        True,
    )
    assert "secret" not in repr(provider)


def test_few_fields_are_needed_and_no_provider_at_all() -> None:
    assert read("") == read("[]") == ()
    (provider,) = read(json.dumps([ACME]))
    assert (provider.account, provider.scopes) == (1, ("openid", "email", "profile"))


def test_the_roles_are_those_of_users_but_the_custom_one() -> None:
    assert set(ROLES) == set(roles.ROLES) - {roles.CUSTOM}


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"id": "Acme"}, "[0].id is not allowed"),
        ({"id": "passkey"}, "[0].id is not allowed"),
        ({"id": None}, "[0].id is not allowed"),
        ({"name": ""}, "[0].name is not allowed: it must be a text of one line"),
        ({"issuer": "http://login.acme.example"}, "[0].issuer is not allowed: it must be the"),
        ({"issuer": "https://login.acme.example?x=1"}, "[0].issuer is not allowed"),
        ({"issuer": "https://a@login.acme.example"}, "[0].issuer is not allowed"),
        ({"issuer": "https://[login"}, "[0].issuer is not allowed"),
        ({"issuer": "login.acme.example"}, "[0].issuer is not allowed"),
        ({"client_id": 5}, "[0].client_id is not allowed"),
        ({"client_secret": ""}, "[0].client_secret is not allowed"),
        ({"scopes": ["email"]}, "[0].scopes is not allowed: it must be a list of scopes, with"),
        ({"scopes": "openid"}, "[0].scopes is not allowed: it must be a list of texts"),
        ({"scopes": ["openid", "a b"]}, "[0].scopes is not allowed"),
        ({"roles": {"mail": "admin"}}, "[0].role_claim is not allowed: it must be set where"),
        ({"default_role": "admin"}, "[0].role_claim is not allowed"),
        ({"role_claim": "groups"}, "[0].roles is not allowed: it must be set where"),
        ({"role_claim": "g", "roles": {"mail": "owner"}}, "[0].roles.mail is not allowed: it must"),
        ({"role_claim": "g", "roles": ["mail"]}, "[0].roles is not allowed"),
        ({"default_role": "custom"}, "[0].default_role is not allowed: it must be one of admin,"),
        ({"domains": {"acme": "admin"}}, "[0].domains.acme is not allowed: it must be a domain"),
        ({"domains": {"acme.example": "root"}}, "[0].domains.acme.example is not allowed"),
        ({"account": 0}, "[0].account is not allowed"),
        ({"account": "1"}, "[0].account is not allowed"),
        ({"account": True}, "[0].account is not allowed"),
        ({"trust_second_factor": True}, "[0].trust_second_factor must be an object"),
        ({"trust_second_factor": {"amr": "mfa"}}, "[0].trust_second_factor.amr is not allowed"),
        ({"trust_second_factor": {"arm": []}}, "trust_second_factor has an unknown field: arm"),
        ({"private_network": "yes"}, "[0].private_network is not allowed: it must be true or"),
        ({"clientId": "x"}, "[0] has an unknown field: clientId"),
    ],
)
def test_an_error_names_the_field(fields: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=f"^OIDC_PROVIDERS.*{re.escape(error)}"):
        load({"OIDC_PROVIDERS": json.dumps([ACME | fields])})


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("[", "OIDC_PROVIDERS is not allowed: it must be a list in JSON, or empty"),
        ("{}", "OIDC_PROVIDERS is not allowed: it must be a list in JSON, or empty"),
        ("[x]", "OIDC_PROVIDERS is not JSON: Expecting value"),
        ("[5]", "OIDC_PROVIDERS[0] must be an object"),
        (json.dumps([ACME, ACME]), "OIDC_PROVIDERS has two providers with the id 'acme'"),
    ],
)
def test_a_setting_that_is_no_list_of_providers_is_refused(text: str, error: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(error)}"):
        load({"OIDC_PROVIDERS": text})
