"""Read the fields that webhooks and relay webhooks have in common: target, authentication, headers.

The refusal names every faulty field (``core.params``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from chalicelib.core import web_address
from chalicelib.core.fields import without_nulls
from chalicelib.core.params import Params
from chalicelib.core.settings import settings
from chalicelib.webhooks import custom_headers, payload
from chalicelib.webhooks.credentials import Credentials
from chalicelib.webhooks.custom_headers import AUTHORIZATION
from chalicelib.webhooks.model import AUTH_TYPES, BASIC, NONE, OAUTH2

#: Most bytes of ``auth_request_details.body`` as JSON
LARGEST_DETAILS: Final = 10_000
LONGEST_NAME: Final = 1024
LONGEST_TEXT: Final = 2048


class EndpointReader:
    """Reads the fields of one body.

    Null removes custom headers and the token; for other fields it counts as absent.
    """

    auth_types: ClassVar[Collection[str]] = AUTH_TYPES
    #: Custom headers must have fewer bytes
    header_bytes: ClassVar[int] = custom_headers.MOST_BYTES

    def __init__(self, body: Any, *, new: bool) -> None:
        self.params = Params(body)
        self.body: Mapping[str, Any] = body
        self.new = new

    def endpoint_fields(self, *, name_required: bool) -> dict[str, Any]:
        """Return name, target and type of authentication, as far as the body has them."""
        params = self.params
        changes = {
            "name": params.text("name", most=LONGEST_NAME, required=name_required),
            "target": self._url(params, "target", required=self.new),
            "auth_type": params.choice("auth_type", self.auth_types),
        }
        return {name: value for name, value in changes.items() if value is not None}

    def credentials(self, auth_type: str, before: Credentials) -> Credentials:
        """Return the secrets for a type of authentication, with what the body changes."""
        secrets = replace(
            before,
            auth_token=self._auth_token(before.auth_token),
            headers=self._headers(auth_type, before.headers),
        )
        readers = {NONE: self._no_credentials, BASIC: self._basic, OAUTH2: self._oauth2}
        return readers[auth_type](secrets)

    def refuse_headers(self, text: str, value: Any) -> None:
        """Refuse ``custom_headers``."""
        self.params.refuse("custom_headers", text, value)

    def _url(self, params: Params, name: str, *, required: bool, any_port: bool = False) -> Any:
        url = params.text(name, most=web_address.LONGEST, required=required)
        if url is not None and (fault := _target_fault(url, any_port=any_port)):
            params.refuse(name, f"{name} {fault}", url)
        return url

    def _headers(self, auth_type: str, before: Mapping[str, str]) -> Mapping[str, str]:
        headers = without_nulls(self.body.get("custom_headers"))
        if headers is None:
            headers = {} if self.params.is_null("custom_headers") else before
        elif fault := custom_headers.fault(headers, self.header_bytes):
            self.refuse_headers(fault, headers)
            return before
        if auth_type != NONE and AUTHORIZATION in (name.lower() for name in headers):
            text = f"custom_headers: Authorization is set by auth_type {auth_type}"
            self.refuse_headers(text, list(headers))
        return dict(headers)

    def _no_credentials(self, secrets: Credentials) -> Credentials:
        return replace(secrets, username="", password="", token_url="", token_body={})

    def _basic(self, secrets: Credentials) -> Credentials:
        secrets = replace(secrets, token_url="", token_body={})
        if self.body.get("auth_credentials") is None:
            if not secrets.username:
                text = "auth_credentials is required for auth_type basic"
                self.params.refuse("auth_credentials", text, None)
            return secrets
        inner = self.params.inner("auth_credentials")
        username = inner.text("username", most=LONGEST_TEXT, required=True) or ""
        if ":" in username:  # RFC 7617 2: it would end there
            inner.refuse("username", "username must not contain a colon", username)
        password = inner.text("password", most=LONGEST_TEXT, blank=True) or ""
        return replace(secrets, username=username, password=password)

    def _oauth2(self, secrets: Credentials) -> Credentials:
        secrets = replace(secrets, username="", password="")
        if self.body.get("auth_request_details") is None:
            if not secrets.token_url:
                text = "auth_request_details is required for auth_type oauth2"
                self.params.refuse("auth_request_details", text, None)
            return secrets
        inner = self.params.inner("auth_request_details")
        url = self._url(inner, "url", required=True, any_port=True)
        content = self.body["auth_request_details"].get("body") if url else {}
        if not isinstance(content, Mapping):
            inner.refuse("body", "auth_request_details.body must be an object", content)
            content = {}
        if len(payload.message(content)) > LARGEST_DETAILS:
            text = f"auth_request_details.body must be at most {LARGEST_DETAILS} bytes of JSON"
            inner.refuse("body", text, None)
        return replace(secrets, token_url=url or "", token_body=dict(content))

    def _auth_token(self, before: str) -> str:
        text = self.params.text("auth_token", most=LONGEST_TEXT, blank=True)
        if text and not (text.isascii() and text.isprintable()):
            self.params.refuse("auth_token", "auth_token must be printable ASCII", text)
        return before if text is None else text


def _target_fault(url: str, *, any_port: bool) -> str:
    """Return what is wrong with a target, empty if nothing is (spec 2.10). Looks nothing up."""
    try:
        address = web_address.read(url)
    except web_address.BadUrl as error:
        return f"is not a valid URL: {error}"
    if any_port or settings().webhook_any_port:
        return ""
    usual = web_address.PORTS[address.scheme]
    return "" if address.port == usual else "must use port 80 (http) or 443 (https)"
