"""Exchange a code for the ID token of a user, and validate it (OpenID Connect Core 3.1.3).

Only signatures with the provider's own public keys count: neither ``none`` nor one with a shared
secret, which would make a public key a secret that everybody knows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlencode

from chalicelib.core import clock, web_fetch
from chalicelib.core.identity_providers import IdentityProvider
from chalicelib.single_sign_on import discovery
from chalicelib.single_sign_on.discovery import Configuration
from chalicelib.single_sign_on.model import FAILED, SignInFailed

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512"),
)
#: How far the clocks of the provider and the service may differ, in seconds
LEEWAY: Final = 60

_PUBLIC_KEYS = ("RSA", "EC")
_FORM = "application/x-www-form-urlencoded"
_MOST_BYTES = 131_072


def claims_of_code(
    provider: IdentityProvider, code: str, *, verifier: str, nonce: str, redirect_uri: str
) -> dict[str, Any]:
    """Return the claims about the user that a code stands for; raises :class:`SignInFailed`.

    Claims that the ID token lacks come from the provider's userinfo endpoint.
    """
    configuration = discovery.configuration(provider)
    tokens = _exchange(provider, configuration, code, verifier, redirect_uri)
    id_token, access_token = tokens.get("id_token"), str(tokens.get("access_token") or "")
    if not isinstance(id_token, str):
        raise SignInFailed(FAILED, f"{provider.id}: there is no ID token")
    claims = validate(provider, id_token, nonce=nonce, access_token=access_token)
    needed = {"email", provider.verified_claim, provider.role_claim.partition(".")[0] or "email"}
    if needed <= claims.keys() or not (access_token and configuration.userinfo_endpoint):
        return claims
    return _user_info(provider, configuration.userinfo_endpoint, access_token, claims) | claims


def validate(
    provider: IdentityProvider, id_token: str, *, nonce: str, access_token: str = ""
) -> dict[str, Any]:
    """Return the claims of an ID token that is valid; raises :class:`SignInFailed`."""
    from authlib.common.errors import AuthlibBaseError
    from authlib.oidc.core import CodeIDToken
    from joserfc.errors import JoseError

    try:
        header, payload = _verified(provider, id_token)
        claims = CodeIDToken(
            payload,
            header,
            options={
                "iss": {"essential": True, "value": provider.issuer},
                "aud": {"essential": True, "value": provider.client_id},
            },
            params={
                "nonce": nonce,
                "client_id": provider.client_id,
                "access_token": access_token,
            },
        )
        claims.validate(now=int(clock.now()), leeway=LEEWAY)
    except (JoseError, AuthlibBaseError, ValueError, TypeError, KeyError) as error:
        reason = f"{provider.id}: the ID token is not valid: {type(error).__name__}: {error}"
        raise SignInFailed(FAILED, reason) from error
    if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= 255:
        raise SignInFailed(FAILED, f"{provider.id}: the ID token has no subject")
    return dict(claims)


def _verified(
    provider: IdentityProvider, id_token: str
) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Return the header and the payload of a token that a key of the provider signed."""
    from joserfc import jws, jwt

    header = jws.extract_compact(id_token.encode()).headers()
    candidates = _keys(discovery.keys(provider), header)
    if not candidates:  # the provider may have new keys
        candidates = _keys(discovery.keys(provider, fresh=True), header)
    failure: Exception = ValueError("no key of the provider fits")
    for key in candidates:
        try:
            token = jwt.decode(id_token, key, algorithms=list(ALGORITHMS))
        except Exception as error:  # each kind of key fails in its own way
            failure = error
        else:
            return token.header, token.claims
    raise ValueError(f"{type(failure).__name__}: {failure}")


def _keys(key_set: Mapping[str, Any], header: Mapping[str, Any]) -> list[Any]:
    """Return the public keys that may have signed a token with this header."""
    from joserfc.jwk import import_key

    entries = key_set.get("keys")
    fitting = [
        entry
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict)
        and entry.get("kty") in _PUBLIC_KEYS
        and entry.get("use", "sig") == "sig"
        and ("kid" not in header or entry.get("kid") == header["kid"])
    ]
    return [import_key(entry) for entry in fitting]


def _exchange(
    provider: IdentityProvider,
    configuration: Configuration,
    code: str,
    verifier: str,
    redirect_uri: str,
) -> dict[str, Any]:
    """Exchange a code for tokens (RFC 6749 4.1.3, RFC 7636 4.5)."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": verifier,
    }
    headers = {"Content-Type": _FORM, "Accept": "application/json"}
    methods = configuration.authentication_methods
    if not provider.client_secret:
        form |= {"client_id": provider.client_id}
    elif "client_secret_post" in methods and "client_secret_basic" not in methods:
        form |= {"client_id": provider.client_id, "client_secret": provider.client_secret}
    else:
        headers["Authorization"] = _basic(provider)
    try:
        response = web_fetch.post(
            configuration.token_endpoint,
            urlencode(form).encode(),
            headers,
            most=_MOST_BYTES,
            private=provider.private_network,
        )
    except web_fetch.FetchFailed as error:
        raise SignInFailed(FAILED, f"{provider.id}: the token endpoint: {error}") from error
    if response.status != 200:
        raise SignInFailed(FAILED, f"{provider.id}: no token: {_error_of(response)}")
    return discovery.read_object(provider, response, "its token endpoint")


def _basic(provider: IdentityProvider) -> str:
    """Return the client's credentials, each form-encoded first (RFC 6749 2.3.1)."""
    from base64 import b64encode

    pair = f"{quote(provider.client_id, safe='')}:{quote(provider.client_secret, safe='')}"
    return f"Basic {b64encode(pair.encode()).decode()}"


def _error_of(response: web_fetch.Response) -> str:
    """Return what the token endpoint says is wrong, for the log."""
    try:
        fields = json.loads(response.body)
        return f"status {response.status}, {str(fields.get('error'))[:100]}"
    except (ValueError, AttributeError):
        return f"status {response.status}"


def _user_info(
    provider: IdentityProvider, url: str, access_token: str, claims: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the claims of the userinfo endpoint, which must be about the same user."""
    if not access_token.isascii() or not access_token.isprintable():
        raise SignInFailed(FAILED, f"{provider.id}: the access token is no text of a header")
    headers = {"Authorization": f"Bearer {access_token}", "Accept": "application/json"}
    fields = discovery.fetch(provider, url, "its userinfo", headers)
    if fields.get("sub") != claims["sub"]:
        raise SignInFailed(FAILED, f"{provider.id}: the userinfo is about another subject")
    return fields
