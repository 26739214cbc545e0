"""A provider of OpenID Connect in this process, of which a test may change every answer."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from chalicelib.core import clock
from chalicelib.core.web_fetch import Response
from tests.unit import calling
from tests.unit.calling import Client

ISSUER = "https://login.acme.example/realms/acme"
CALLBACK = "http://localhost:8080/api/v1/sign-in/providers/acme/callback"
START = "/api/v1/sign-in/providers/acme"
SECRET = "a client's secret"  # pragma: allowlist secret
#: Both parts are form-encoded before they are put together (RFC 6749 2.3.1)
CREDENTIALS = f"Basic {b64encode(b'postfinch:a%20client%27s%20secret').decode()}"

SETTING: dict[str, Any] = {
    "id": "acme",
    "name": "Acme",
    "issuer": ISSUER,
    "client_id": "postfinch",
    "client_secret": SECRET,
}
KEYS = [ECKey.generate_key("P-256", {"kid": f"key-{number}"}) for number in range(2)]


@cache
def rsa_key() -> RSAKey:
    """Return a key of the kind that most providers have; it takes long to make."""
    return RSAKey.generate_key(2048, {"kid": "rsa"})


@dataclass
class Provider:
    """The provider ``acme``: its keys, and the claims of its next ID tokens.

    ``sign`` stands for the signature with ``signer`` under ``header``. ``tokens`` and
    ``configuration`` change what it answers. ``fetches`` are the URLs that were fetched.
    """

    claims: dict[str, Any] = field(default_factory=dict)
    keys: list[Any] = field(default_factory=lambda: [KEYS[0]])
    signer: Any = field(default_factory=lambda: KEYS[0])
    header: dict[str, Any] = field(default_factory=lambda: {"alg": "ES256", "kid": "key-0"})
    sign: Callable[[dict[str, Any]], str] | None = None
    tokens: dict[str, Any] = field(default_factory=dict)
    configuration: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    fetches: list[str] = field(default_factory=list)
    credentials: list[str] = field(default_factory=list)

    def authorize(self, location: str) -> str:
        """Sign the user in; return the code for the browser that was sent to ``location``."""
        url = urlsplit(location)
        query = dict(parse_qsl(url.query))
        assert f"{url.scheme}://{url.netloc}{url.path}" == f"{ISSUER}/authorize"
        assert query["redirect_uri"] == CALLBACK
        assert (query["response_type"], query["code_challenge_method"]) == ("code", "S256")
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        return code

    def get(self, url: str, headers: Mapping[str, str] | None = None, **_: Any) -> Response:
        """Answer what the service fetches, in place of ``web_fetch.get``."""
        self.fetches.append(url)
        if url == f"{ISSUER}/.well-known/openid-configuration":
            return answer(self._configuration())
        if url == f"{ISSUER}/keys":
            return answer({"keys": [each.as_dict(private=False) for each in self.keys]})
        if url == f"{ISSUER}/userinfo":
            assert dict(headers or {})["Authorization"] == "Bearer access"
            return answer({"sub": "subject-1"} | self.userinfo)
        return Response(404, b"")

    def post(self, url: str, body: bytes, headers: Mapping[str, str], **_: Any) -> Response:
        """Exchange a code for tokens, in place of ``web_fetch.post``."""
        self.fetches.append(url)
        form = dict(parse_qsl(body.decode()))
        self.credentials.append(headers.get("Authorization") or str(form.get("client_secret")))
        query = self.codes.pop(form["code"], None)
        if query is None or form["redirect_uri"] != query["redirect_uri"]:
            return Response(400, b'{"error": "invalid_grant"}')
        challenge = hashlib.sha256(form["code_verifier"].encode()).digest()
        assert urlsafe_b64encode(challenge).decode().rstrip("=") == query["code_challenge"]
        tokens = {"access_token": "access", "token_type": "Bearer"}
        return answer(tokens | {"id_token": self.id_token(query["nonce"])} | self.tokens)

    def id_token(self, nonce: str) -> str:
        """Sign the claims; a claim that is ``None`` is left out."""
        claims = {
            "iss": ISSUER,
            "sub": "subject-1",
            "aud": "postfinch",
            "exp": int(clock.now()) + 300,
            "iat": int(clock.now()),
            "nonce": nonce,
            "email": "ann@acme.example",
            "email_verified": True,
            "name": "Ann",
        } | self.claims
        claims = {name: value for name, value in claims.items() if value is not None}
        if self.sign is not None:
            return self.sign(claims)
        return jwt.encode(self.header, claims, self.signer, algorithms=[self.header["alg"]])

    def _configuration(self) -> dict[str, Any]:
        return {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/keys",
            "userinfo_endpoint": f"{ISSUER}/userinfo",
        } | self.configuration


@dataclass
class Browser:
    """A browser that keeps the cookies of the service and follows no redirect by itself."""

    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, target: str) -> calling.Response:
        """Open a page of the service."""
        text = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        reply = Client("", {"Cookie": text} if text else {}).get(target)
        for cookie in reply.cookies:
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return reply

    def begin(self) -> str:
        """Go to the provider; return the URL there."""
        reply = self.get(START)
        assert reply.status == 302, reply
        return reply.headers["Location"]

    def come_back(self, location: str, code: str, more: str = "") -> str:
        """Return where the service leads a browser that the provider sends back."""
        state = dict(parse_qsl(urlsplit(location).query))["state"]
        reply = self.get(f"{START}/callback?code={code}&state={state}{more}")
        assert reply.status == 302, reply
        return reply.headers["Location"]

    def sign_in(self, provider: Provider) -> str:
        """Sign in; return where the service leads."""
        location = self.begin()
        return self.come_back(location, provider.authorize(location))

    @property
    def is_signed_in(self) -> bool:
        """Tell whether the browser has a session that works."""
        return self.get("/api/v1/second-factor").status == 200


def answer(value: Any) -> Response:
    """Return a JSON response."""
    return Response(200, json.dumps(value).encode())
