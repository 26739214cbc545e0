"""Read the setting ``OIDC_PROVIDERS``: the OpenID Connect providers that users may sign in with."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from chalicelib.core.ip_addresses import is_loopback

NAME: Final = "OIDC_PROVIDERS"
#: The roles of users that a provider may give; a custom one needs grants of its own
ROLES: Final = ("admin", "developer", "templates", "reporting")
SCOPES: Final = ("openid", "email", "profile")

_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,29})")
_DOMAIN = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)+")
_TEXT = re.compile(r"[^\x00-\x1f\x7f]{1,500}")
_SCOPE = re.compile(r"[!#-\[\]-~]{1,200}")
#: The methods of sessions that begin otherwise
_METHODS = ("password", "passkey")


@dataclass(frozen=True, slots=True)
class TrustedFactors:
    """What an ID token says where the provider itself has checked a second factor."""

    amr: tuple[str, ...] = ()
    acr: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """A provider.

    ``role_claim`` names the claim whose value, or one of whose values, ``roles`` translates; where
    none fits, ``default_role`` counts. ``domains`` are those whose users join the ``account`` by
    themselves, with their role. ``verified_claim`` tells whether the address was verified.
    ``private_network``: the provider may have a private address.
    """

    id: str
    name: str
    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = SCOPES
    role_claim: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    default_role: str = ""
    domains: Mapping[str, str] = field(default_factory=dict)
    account: int = 1
    verified_claim: str = "email_verified"
    trust_second_factor: TrustedFactors = TrustedFactors()
    private_network: bool = False


@lru_cache(maxsize=4)
def read(text: str) -> tuple[IdentityProvider, ...]:
    """Return the providers of a setting; raises ``ValueError`` with one line for the operator."""
    if not text.strip():
        return ()
    try:
        entries = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{NAME} is not JSON: {error}") from None
    if not isinstance(entries, list):
        raise ValueError(f"{NAME} must be a list of providers")
    providers = tuple(_Reader(f"{NAME}[{n}]", entry).provider() for n, entry in enumerate(entries))
    ids = [each.id for each in providers]
    if repeated := next((each for each in ids if ids.count(each) > 1), None):
        raise ValueError(f"{NAME} has two providers with the id {repeated!r}")
    return providers


class _Reader:
    """Reads one object of the setting; each error names the field."""

    def __init__(self, place: str, entry: Any) -> None:
        if not isinstance(entry, dict):
            raise ValueError(f"{place} must be an object")
        self._place = place
        self._entry = entry

    def provider(self) -> IdentityProvider:
        self._check_names(IdentityProvider)
        provider = IdentityProvider(
            id=self._matching("id", _ID, "1 to 30 of a-z, 0-9 and -, the first not -"),
            name=self._text("name"),
            issuer=self._issuer(),
            client_id=self._text("client_id"),
            client_secret=self._text("client_secret", ""),
            scopes=self._scopes(),
            role_claim=self._text("role_claim", ""),
            roles=self._roles("roles"),
            default_role=self._role("default_role", self._entry.get("default_role", "")),
            domains=self._domains(),
            account=self._account(),
            verified_claim=self._text("verified_claim", "email_verified"),
            trust_second_factor=self._trusted(),
            private_network=self._flag("private_network"),
        )
        if provider.id in _METHODS:
            raise self._fault("id", "another name than that of another way to sign in")
        if (provider.roles or provider.default_role) and not provider.role_claim:
            raise self._fault("role_claim", "set where roles or default_role are")
        if provider.role_claim and not provider.roles:
            raise self._fault("roles", "set where role_claim is")
        return provider

    def _check_names(self, kind: type) -> None:
        names: tuple[str, ...] = kind.__slots__  # type: ignore[attr-defined]
        if unknown := next((name for name in self._entry if name not in names), None):
            raise ValueError(f"{self._place} has an unknown field: {unknown}")

    def _text(self, name: str, default: str | None = None) -> str:
        return self._matching(name, _TEXT, "a text of one line that is not empty", default)

    def _matching(
        self, name: str, pattern: re.Pattern[str], words: str, default: str | None = None
    ) -> str:
        if name not in self._entry and default is not None:
            return default
        value = self._entry.get(name)
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise self._fault(name, words)
        return value

    def _issuer(self) -> str:
        words = "the issuer's URL, with https (http only on this machine), without ? and #"
        issuer = self._text("issuer")
        try:
            url = urlsplit(issuer)
            is_local = url.scheme == "http" and is_loopback(url.hostname or "")
        except ValueError:
            raise self._fault("issuer", words) from None
        if not (url.scheme == "https" or is_local) or not url.hostname or set("?#@ ") & {*issuer}:
            raise self._fault("issuer", words)
        return issuer

    def _scopes(self) -> tuple[str, ...]:
        scopes = self._texts("scopes", self._entry, SCOPES)
        if "openid" not in scopes or not all(map(_SCOPE.fullmatch, scopes)):
            raise self._fault("scopes", "a list of scopes, with openid")
        return scopes

    def _texts(
        self, name: str, entry: Mapping[str, Any], default: tuple[str, ...] = ()
    ) -> tuple[str, ...]:
        values = entry.get(name, default)
        if not isinstance(values, list | tuple) or not all(
            isinstance(each, str) and each for each in values
        ):
            raise self._fault(name, "a list of texts")
        return tuple(values)

    def _role(self, name: str, role: Any) -> str:
        if role and role not in ROLES:
            raise self._fault(name, f"one of {', '.join(ROLES)}")
        return str(role)

    def _roles(self, name: str) -> dict[str, str]:
        values = self._entry.get(name, {})
        if not isinstance(values, dict):
            raise self._fault(name, "an object whose values are roles")
        for key, role in values.items():
            if role not in ROLES:
                raise self._fault(f"{name}.{key}", f"one of {', '.join(ROLES)}")
        return values

    def _domains(self) -> dict[str, str]:
        domains = {key.lower(): role for key, role in self._roles("domains").items()}
        for domain in domains:
            if not _DOMAIN.fullmatch(domain):
                raise self._fault(f"domains.{domain}", "a domain in ASCII, such as example.com")
        return domains

    def _account(self) -> int:
        account = self._entry.get("account", 1)
        if isinstance(account, bool) or not isinstance(account, int) or account < 1:
            raise self._fault("account", "the number of an account")
        return account

    def _flag(self, name: str) -> bool:
        value = self._entry.get(name, False)
        if not isinstance(value, bool):
            raise self._fault(name, "true or false")
        return value

    def _trusted(self) -> TrustedFactors:
        name = "trust_second_factor"
        inner = _Reader(f"{self._place}.{name}", self._entry.get(name, {}))
        inner._check_names(TrustedFactors)
        return TrustedFactors(
            amr=inner._texts("amr", inner._entry), acr=inner._texts("acr", inner._entry)
        )

    def _fault(self, name: str, words: str) -> ValueError:
        return ValueError(f"{self._place}.{name} is not allowed: it must be {words}")
