"""Lead a browser to a provider and back: authorization code flow with PKCE, state and nonce.

What was drawn for a sign-in waits in a signed cookie of the browser that began it, for ten minutes,
and works once. So an answer of a provider counts only in that browser, and only the first time.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from chalicelib.core import clock, signing
from chalicelib.core.errors import NotFound
from chalicelib.core.identity_providers import IdentityProvider, read
from chalicelib.core.settings import settings
from chalicelib.single_sign_on import discovery, tokens
from chalicelib.single_sign_on.model import EXPIRED, FAILED, REFUSED, SignInFailed
from chalicelib.users.cookies import named_cookie
from chalicelib.users.store import used_states

LIFETIME: Final = 600

_PURPOSE = "sign-in with a provider"
_COOKIE = "oidc"
_BYTES = 32


class Departure(NamedTuple):
    """Where a browser goes to sign in, and the cookie that it takes along."""

    url: str
    cookie: str


def providers() -> tuple[IdentityProvider, ...]:
    """Return the providers of the settings."""
    return read(settings().oidc_providers)


def provider_named(provider_id: str) -> IdentityProvider:
    """Return a provider; raises 404."""
    for provider in providers():
        if provider.id == provider_id:
            return provider
    raise NotFound


def begin(provider: IdentityProvider) -> Departure:
    """Begin a sign-in; raises :class:`SignInFailed` where the provider cannot be reached."""
    from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
    from authlib.oauth2.rfc7636 import create_s256_code_challenge

    endpoint = discovery.configuration(provider).authorization_endpoint
    state, nonce, verifier = (secrets.token_urlsafe(_BYTES) for _ in range(3))
    url = prepare_grant_uri(
        endpoint,
        client_id=provider.client_id,
        response_type="code",
        redirect_uri=_redirect_uri(provider),
        scope=list(provider.scopes),
        state=state,
        nonce=nonce,
        code_challenge=create_s256_code_challenge(verifier),
        code_challenge_method="S256",
    )
    fields = {
        "provider": provider.id,
        "state": state,
        "nonce": nonce,
        "verifier": verifier,
        "ends": clock.now() + LIFETIME,
    }
    name, attributes = named_cookie(_COOKIE)
    token = signing.to_token(fields, _PURPOSE)
    return Departure(url, f"{name}={token}; {attributes}; Max-Age={LIFETIME}")


def cookie_name() -> str:
    """Return the name of the cookie that waits for the provider's answer."""
    return named_cookie(_COOKIE).name


def clear_cookie() -> str:
    """Return the value of ``Set-Cookie`` that makes a browser forget a sign-in."""
    name, attributes = named_cookie(_COOKIE)
    return f"{name}=; {attributes}; Max-Age=0"


def finish(provider: IdentityProvider, cookie: str, answer: Mapping[str, str]) -> dict[str, Any]:
    """Return the claims about the user whom a provider sends back; raises :class:`SignInFailed`.

    ``answer`` is the query of the callback, ``cookie`` what :func:`begin` gave the browser.
    """
    departure = _use(provider, cookie, answer.get("state", ""))
    if answer.get("error"):
        reason = f"{provider.id}: the provider answers {answer['error'][:100]!r}"
        raise SignInFailed(REFUSED, reason)
    _check_issuer(provider, answer)
    if not answer.get("code"):
        raise SignInFailed(FAILED, f"{provider.id}: the answer has no code")
    return tokens.claims_of_code(
        provider,
        answer["code"],
        verifier=departure["verifier"],
        nonce=departure["nonce"],
        redirect_uri=_redirect_uri(provider),
    )


def _use(provider: IdentityProvider, cookie: str, state: str) -> dict[str, str]:
    """Return what was drawn for a sign-in, this once."""
    try:
        fields = signing.from_token(cookie, _PURPOSE)
    except signing.BadSignature:
        reason = f"{provider.id}: the browser did not begin a sign-in"
        raise SignInFailed(EXPIRED, reason) from None
    is_own = hmac.compare_digest(fields["state"].encode(), state.encode())
    if not is_own or fields["provider"] != provider.id:
        raise SignInFailed(EXPIRED, f"{provider.id}: the state is of another sign-in")
    if not used_states.use(state, fields["ends"]):
        raise SignInFailed(EXPIRED, f"{provider.id}: the sign-in is over, or it was used")
    return dict(fields)


def _check_issuer(provider: IdentityProvider, answer: Mapping[str, str]) -> None:
    """Refuse an answer of another issuer (RFC 9207), which may have another one's code."""
    must_have = discovery.configuration(provider).names_issuer
    if ("iss" in answer or must_have) and answer.get("iss") != provider.issuer:
        raise SignInFailed(FAILED, f"{provider.id}: the answer is of another issuer")


def _redirect_uri(provider: IdentityProvider) -> str:
    """Return the callback: it depends on the setting only, not on the host of a request."""
    return f"{settings().public_url}/api/v1/sign-in/providers/{provider.id}/callback"
