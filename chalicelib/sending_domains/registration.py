"""A new sending domain: may this account have it, and with which key (spec 4.4)."""

from __future__ import annotations

from dataclasses import dataclass

from chalicelib.core import clock, domain_names
from chalicelib.core.errors import ApiError, bad_format, missing_field
from chalicelib.core.fields import Body
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains import claims, store
from chalicelib.sending_domains.dkim_request import DkimBody, generated_key, imported_key
from chalicelib.sending_domains.model import SendingDomain
from chalicelib.sending_domains.schedule import scheduled
from chalicelib.tracking_domains.lookup import check_link

_MOST_PARENTS = 30


class NewDomain(Body):
    """The body of ``POST /sending-domains``."""

    domain: str | None = None
    tracking_domain: str | None = None
    dkim: DkimBody | None = None
    generate_dkim: bool | None = None
    dkim_key_length: int | None = None
    shared_with_subaccounts: bool | None = None


@dataclass(frozen=True, slots=True)
class Registered:
    """The new domain, and whether its key was made here."""

    domain: SendingDomain
    has_new_key: bool


def register(scope: Scope, body: NewDomain) -> Registered:
    """Store a new domain of the scope's owner; raises 422, 400 (1200, 7000, 7004) and 409."""
    if body.domain is None:
        raise missing_field("domain is a required field")
    name = _allowed_name(body.domain)
    shared = bool(body.shared_with_subaccounts)
    check_sharing(scope.owner, shared)
    tracking_domain = check_link(scope.account_id, scope.owner, body.tracking_domain or "")
    key, is_new = _key(body, name)
    now = clock.now()
    domain = SendingDomain(
        domain=name,
        account_id=scope.account_id,
        created=now,
        dkim=key,
        subaccount_id=scope.owner,
        tracking_domain=tracking_domain,
        shared_with_subaccounts=shared,
    )
    domain = scheduled(domain, now)
    if not store.create(domain):
        raise claims.refusal(name, domain_names.parents(name), scope.account_id)
    return Registered(domain, is_new)


def check_sharing(subaccount_id: int | None, shared: bool) -> None:
    """Refuse to share a domain that is a subaccount's (spec 2.5)."""
    if shared and subaccount_id is not None:
        raise bad_format("shared_with_subaccounts is for domains of the primary account only")


def _allowed_name(text: str) -> str:
    try:
        name = domain_names.canonical(text)
    except domain_names.BadName as error:
        raise _bad_name(text, str(error)) from None
    if is_restricted(name):
        raise claims.restricted(name)
    if len(domain_names.parents(name)) > _MOST_PARENTS:
        raise _bad_name(text, "it has too many parts")
    return name


def _bad_name(text: str, reason: str) -> ApiError:
    return bad_format(f"Error validating domain name syntax for domain: '{text[:300]}': {reason}")


def is_restricted(name: str) -> bool:
    """Tell whether nobody may send from the domain: a mailbox provider's, or a public suffix."""
    providers = settings().restricted_domains.split(",")
    return domain_names.is_public_suffix(name) or any(
        domain_names.is_within(name, provider) for provider in providers if provider
    )


def _key(body: NewDomain, name: str) -> tuple[DkimKey | None, bool]:
    """Return the key and whether it was made here; a key that was given wins."""
    given = body.dkim or DkimBody()
    if given.has_key:
        return imported_key(given, name), False
    if body.generate_dkim is False:
        return None, False
    return generated_key(given, name, body.dkim_key_length), True
