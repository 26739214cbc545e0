"""An answer counts in the browser that began the sign-in, once, and only if its token is valid."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

from chalicelib.single_sign_on import discovery
from tests.unit.calling import Client
from tests.unit.moving_clock import Clock
from tests.unit.people import make_user
from tests.unit.single_sign_on.provider import (
    CALLBACK,
    ISSUER,
    KEYS,
    SECRET,
    START,
    Browser,
    Provider,
    rsa_key,
)
from tests.unit.users.authenticators import base64url, from_base64url

CONSOLE = "http://localhost:8080/console/"
FAILED = f"{CONSOLE}#sign-in-failed="


@pytest.fixture(autouse=True)
def user(provider: Provider) -> None:
    make_user(email="ann@acme.example")


def test_a_user_signs_in(provider: Provider) -> None:
    browser = Browser()
    assert browser.sign_in(provider) == CONSOLE
    assert browser.is_signed_in
    assert browser.cookies["oidc"] == ""


def test_the_cookie_of_a_sign_in_is_for_this_service_only(provider: Provider) -> None:
    (cookie,) = Browser().get(START).cookies
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Lax; Max-Age=600")


def test_an_answer_in_another_browser_is_refused(provider: Provider) -> None:
    """Else a forged link would sign its victim in as the attacker."""
    attacker, victim = Browser(), Browser()
    location = attacker.begin()
    code = provider.authorize(location)
    assert victim.come_back(location, code) == f"{FAILED}expired"
    victim.begin()
    assert victim.come_back(location, code) == f"{FAILED}expired"
    assert not victim.is_signed_in
    assert not any(url.endswith("/token") for url in provider.fetches)


def test_an_answer_counts_once(provider: Provider) -> None:
    browser = Browser()
    location = browser.begin()
    code, waiting_cookie = provider.authorize(location), browser.cookies["oidc"]
    assert browser.come_back(location, code) == CONSOLE
    assert browser.come_back(location, code) == f"{FAILED}expired"
    thief = Browser({"oidc": waiting_cookie})
    assert thief.come_back(location, provider.authorize(location)) == f"{FAILED}expired"
    assert not thief.is_signed_in


def test_a_replayed_or_foreign_code_is_refused(provider: Provider) -> None:
    first, second = Browser(), Browser()
    assert first.sign_in(provider) == CONSOLE
    assert second.come_back(second.begin(), "code-0") == f"{FAILED}failed"
    assert second.come_back(second.begin(), "foreign") == f"{FAILED}failed"


def test_a_code_of_another_sign_in_is_refused(provider: Provider) -> None:
    """The nonce and the verifier of PKCE are those of the browser's own sign-in."""
    attacker, victim = Browser(), Browser()
    code = provider.authorize(attacker.begin())
    location = victim.begin()
    provider.codes[code]["code_challenge"] = dict(parse_qsl(urlsplit(location).query))[
        "code_challenge"
    ]
    assert victim.come_back(location, code) == f"{FAILED}failed"


def test_a_sign_in_takes_ten_minutes_at_most(provider: Provider, clock: Clock) -> None:
    browser = Browser()
    location = browser.begin()
    clock.now += 600
    assert browser.come_back(location, provider.authorize(location)) == f"{FAILED}expired"


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ({"iss": "https://login.evil.example"}, "failed"),
        ({"iss": f"{ISSUER}/"}, "failed"),
        ({"iss": None}, "failed"),
        ({"aud": "another client"}, "failed"),
        ({"aud": ["another client"]}, "failed"),
        ({"aud": []}, "failed"),
        ({"aud": None}, "failed"),
        ({"aud": ["postfinch", "another client"]}, "failed"),
        ({"aud": ["postfinch", "another client"], "azp": "another client"}, "failed"),
        ({"azp": "another client"}, "failed"),
        ({"nonce": "another nonce"}, "failed"),
        ({"nonce": None}, "failed"),
        ({"nonce": ""}, "failed"),
        ({"sub": None}, "failed"),
        ({"sub": ""}, "failed"),
        ({"sub": 7}, "failed"),
        ({"sub": "x" * 256}, "failed"),
        ({"exp": None}, "failed"),
        ({"exp": "never"}, "failed"),
        ({"iat": None}, "failed"),
        ({"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}, "failed"),
        ({"at_hash": 7}, "failed"),
        ({"email_verified": False}, "unverified"),
        ({"email_verified": None}, "unverified"),
        ({"email_verified": "false"}, "unverified"),
        ({"email_verified": "yes"}, "unverified"),
        ({"email": None}, "unverified"),
        ({"email": "ann"}, "unverified"),
        ({"email": ["ann@acme.example"]}, "unverified"),
        ({"email": "bob@acme.example"}, "not_invited"),
    ],
)
def test_a_token_with_other_claims_is_refused(
    provider: Provider, claims: dict[str, Any], code: str
) -> None:
    provider.claims = claims
    browser = Browser()
    assert browser.sign_in(provider) == FAILED + code
    assert not browser.is_signed_in


@pytest.mark.parametrize(
    ("claims", "goes"),
    [
        ({"exp": -61}, False),
        ({"exp": -59}, True),
        ({"iat": 61}, False),
        ({"iat": 59}, True),
        ({"nbf": 61}, False),
        ({"nbf": 59}, True),
    ],
)
def test_clocks_may_differ_by_a_minute(
    provider: Provider, clock: Clock, claims: dict[str, int], goes: bool
) -> None:
    provider.claims = {name: int(clock.now) + seconds for name, seconds in claims.items()}
    assert (Browser().sign_in(provider) == CONSOLE) == goes


def test_the_hash_of_the_access_token_is_checked(provider: Provider) -> None:
    half = hashlib.sha256(b"access").digest()[:16]
    provider.claims = {"at_hash": base64url(half)}
    assert Browser().sign_in(provider) == CONSOLE


def test_a_token_for_several_audiences_names_this_client(provider: Provider) -> None:
    provider.claims = {"aud": ["another", "postfinch"], "azp": "postfinch"}
    assert Browser().sign_in(provider) == CONSOLE


def compact(header: dict[str, Any], claims: dict[str, Any], secret: bytes = b"") -> str:
    """Return a token that is signed with a secret, or not at all."""
    texts = [base64url(json.dumps(each).encode()) for each in (header, claims)]
    text = ".".join(texts)
    tag = hmac.digest(secret, text.encode(), hashlib.sha256) if secret else b""
    return f"{text}.{base64url(tag)}"


def unsigned(provider: Provider) -> None:
    provider.sign = lambda claims: compact({"alg": "none"}, claims)


def unsigned_with_the_name_of_a_key(provider: Provider) -> None:
    provider.sign = lambda claims: compact({"alg": "none", "kid": "key-0"}, claims)


def signed_with_the_public_key_as_a_secret(provider: Provider) -> None:
    public = KEYS[0].as_pem(private=False)
    provider.sign = lambda claims: compact({"alg": "HS256", "kid": "key-0"}, claims, public)


def signed_with_the_clients_secret(provider: Provider) -> None:
    provider.signer = OctKey.import_key(SECRET)
    provider.header = {"alg": "HS256"}


def signed_with_another_key(provider: Provider) -> None:
    provider.signer = KEYS[1]


def signed_with_a_key_in_its_header(provider: Provider) -> None:
    provider.signer = KEYS[1]
    provider.header = {"alg": "ES256", "jwk": KEYS[1].as_dict(private=False)}


def signed_with_a_secret_among_the_keys(provider: Provider) -> None:
    provider.signer = OctKey.generate_key(256, {"kid": "oct"})
    provider.keys = [KEYS[0], provider.signer]
    provider.header = {"alg": "HS256", "kid": "oct"}


def signed_with_a_key_for_encryption(provider: Provider) -> None:
    parameters = {**KEYS[1].as_dict(private=True), "use": "enc", "kid": "enc"}
    provider.keys = [KEYS[0], ECKey.import_key(parameters)]
    provider.signer = KEYS[1]
    provider.header = {"alg": "ES256", "kid": "enc"}


def without_an_id_token(provider: Provider) -> None:
    provider.tokens = {"id_token": None}


def no_token_at_all(provider: Provider) -> None:
    provider.tokens = {"id_token": "x.y.z"}


def altered(provider: Provider) -> None:
    def sign(claims: dict[str, Any]) -> str:
        token = jwt.encode(provider.header, claims, KEYS[0], algorithms=["ES256"])
        header, payload, signature = token.split(".")
        fields = json.loads(from_base64url(payload)) | {"email": "eve@acme.example"}
        return f"{header}.{base64url(json.dumps(fields).encode())}.{signature}"

    make_user(email="eve@acme.example")
    provider.sign = sign


@pytest.mark.parametrize(
    "forge",
    [
        unsigned,
        unsigned_with_the_name_of_a_key,
        signed_with_the_public_key_as_a_secret,
        signed_with_the_clients_secret,
        signed_with_another_key,
        signed_with_a_key_in_its_header,
        signed_with_a_secret_among_the_keys,
        signed_with_a_key_for_encryption,
        without_an_id_token,
        no_token_at_all,
        altered,
    ],
)
@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_only_the_providers_own_public_keys_sign(
    provider: Provider, forge: Callable[[Provider], None]
) -> None:
    forge(provider)
    browser = Browser()
    assert browser.sign_in(provider) == f"{FAILED}failed"
    assert not browser.is_signed_in


def test_new_keys_of_the_provider_are_fetched_once(provider: Provider) -> None:
    assert Browser().sign_in(provider) == CONSOLE
    provider.keys, provider.signer = [KEYS[1]], KEYS[1]
    provider.header = {"alg": "ES256", "kid": "key-1"}
    assert Browser().sign_in(provider) == CONSOLE
    assert Browser().sign_in(provider) == CONSOLE
    assert provider.fetches.count(f"{ISSUER}/keys") == 2
    provider.header = {"alg": "ES256", "kid": "key-2"}
    assert Browser().sign_in(provider) == f"{FAILED}failed"
    assert provider.fetches.count(f"{ISSUER}/keys") == 3


@pytest.mark.parametrize("header", [{"alg": "RS256", "kid": "rsa"}, {"alg": "RS256"}])
def test_a_token_may_name_no_key(provider: Provider, header: dict[str, str]) -> None:
    provider.keys, provider.signer = [KEYS[0], rsa_key()], rsa_key()
    provider.header = header
    assert Browser().sign_in(provider) == CONSOLE


def test_the_configuration_is_kept_for_an_hour(provider: Provider, clock: Clock) -> None:
    url = f"{ISSUER}/.well-known/openid-configuration"
    for seconds, fetches in ((0, 1), (3599, 1), (1, 2)):
        clock.now += seconds
        Browser().begin()
        assert provider.fetches.count(url) == fetches


@pytest.mark.parametrize(
    "configuration",
    [
        {"issuer": f"{ISSUER}/"},
        {"issuer": "https://login.evil.example"},
        {"issuer": None},
        {"token_endpoint": "http://login.acme.example/token"},
        {"token_endpoint": None},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": "file:///etc/passwd"},
        {"userinfo_endpoint": 7},
    ],
)
def test_a_configuration_of_another_issuer_or_without_tls_is_refused(
    provider: Provider, configuration: dict[str, Any]
) -> None:
    provider.configuration = configuration
    assert Browser().begin() == f"{FAILED}failed"


def test_an_answer_that_names_another_issuer_is_refused(provider: Provider) -> None:
    for more, place in (("&iss=https://evil.example", "failed"), ("&iss=" + ISSUER, None)):
        browser = Browser()
        location = browser.begin()
        target = browser.come_back(location, provider.authorize(location), more)
        assert target == (FAILED + place if place else CONSOLE)
    provider.configuration = {"authorization_response_iss_parameter_supported": True}
    discovery.clear_cache()
    assert Browser().sign_in(provider) == f"{FAILED}failed"


def test_the_providers_refusal_is_told(provider: Provider) -> None:
    browser = Browser()
    state = dict(parse_qsl(urlsplit(browser.begin()).query))["state"]
    reply = browser.get(f"{START}/callback?error=access_denied&state={state}")
    assert reply.headers["Location"] == f"{FAILED}refused"


@pytest.mark.parametrize(
    "more",
    [
        "return=https://evil.example",
        "redirect_uri=https://evil.example",
        "next=//evil.example",
        "target_link_uri=https://evil.example",
    ],
)
def test_no_parameter_leads_elsewhere(provider: Provider, more: str) -> None:
    browser = Browser()
    location = browser.get(f"{START}?{more}").headers["Location"]
    assert dict(parse_qsl(urlsplit(location).query))["redirect_uri"] == CALLBACK
    code = provider.authorize(location)
    assert browser.come_back(location, code, f"&{more}") == CONSOLE


def test_the_callback_does_not_depend_on_the_host_of_the_request(provider: Provider) -> None:
    headers = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
    location = Client("", headers).get(START).headers["Location"]
    assert dict(parse_qsl(urlsplit(location).query))["redirect_uri"] == CALLBACK


def test_an_unknown_provider_is_not_found(provider: Provider) -> None:
    assert Browser().get("/api/v1/sign-in/providers/other").status == 404
    assert Browser().get("/api/v1/sign-in/providers/other/callback").status == 404


def test_the_session_of_before_ends(provider: Provider) -> None:
    """A session that an attacker put into the browser is not the one that is signed in."""
    browser = Browser()
    browser.sign_in(provider)
    planted = browser.cookies["session"]
    browser.sign_in(provider)
    assert browser.cookies["session"] != planted
    assert not Browser({"session": planted}).is_signed_in
