"""Register, list, change and delete sending domains (spec 4.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from chalicelib.core import clock, domain_names, references
from chalicelib.core.dynamo import Write, retry_conflicts
from chalicelib.core.errors import (
    ApiError,
    Forbidden,
    bad_format,
    endpoint_failed,
    missing_field,
)
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.dkim.model import DkimKey
from chalicelib.domain_claims import store as claims
from chalicelib.sending_domains import store
from chalicelib.sending_domains.dkim_request import (
    DkimBody,
    changed_key,
    generated_key,
    imported_key,
)
from chalicelib.sending_domains.dns_checks import check_dkim
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.further_keys.service import check_selector, check_unused_key
from chalicelib.sending_domains.lookup import get_owned, is_enterprise
from chalicelib.sending_domains.model import VALID, SendingDomain, with_status
from chalicelib.sending_domains.request import DomainUpdate, NewDomain, check_sharing
from chalicelib.sending_domains.schedule import with_next_check
from chalicelib.tracking_domains.lookup import check_link, naming

_MOST_PARENTS = 30


@dataclass(frozen=True, slots=True)
class Registration:
    """A new domain, and whether the service generated its key."""

    domain: SendingDomain
    has_new_key: bool


def register(scope: Scope, body: NewDomain) -> Registration:
    """Store a new domain of the scope's owner; raises 422, 400 (1200, 7000, 7004) and 409."""
    if body.domain is None:
        raise missing_field("domain is a required field")
    name = _allowed_name(body.domain)
    shared = bool(body.shared_with_subaccounts)
    check_sharing(scope.owner, shared)
    tracking_domain = check_link(scope.account_id, scope.owner, body.tracking_domain or "")
    key, is_new = _first_key(body, name)
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
    domain = with_next_check(domain, now)

    def attempt() -> None:
        if not store.create(domain, _naming(domain)):
            raise claims.refusal(name, domain_names.parents(name), scope.account_id)

    retry_conflicts(attempt)
    return Registration(domain, is_new)


def list_matching(scope: Scope, filters: Mapping[str, str | bool]) -> list[SendingDomain]:
    """Return the domains that the scope may read and that pass every filter, by name."""
    domains = [domain for domain in store.readable_in(scope) if _passes(domain, scope, filters)]
    return sorted(domains, key=lambda domain: domain.domain)


def update(scope: Scope, name: str, body: DomainUpdate) -> SendingDomain:
    """Make all the changes of the body, or none; raises 404, 409, 422, and 400 (1200, 1404)."""
    domain = get_owned(scope, name)
    if body.is_default_bounce_domain and is_enterprise(scope.account_id):
        raise Forbidden("default bounce domains are not available on Enterprise")
    if body.shared_with_subaccounts is not None:
        check_sharing(domain.subaccount_id, body.shared_with_subaccounts)
    link = "" if body.is_null("tracking_domain") else body.tracking_domain
    if link is not None:
        link = check_link(domain.account_id, domain.subaccount_id, link)
    key = _published_key(domain, body.dkim) if body.dkim is not None else None

    def attempt() -> SendingDomain:
        before = get_owned(scope, name)
        after = _changed(before, body, link, key)
        _check_unused(before, after)
        if after.dkim != before.dkim:
            check_selector(after)
        _save(before, after, _naming(after) if link else [])
        return after

    return retry_conflicts(attempt)


def delete(scope: Scope, name: str) -> None:
    """Delete a domain with its keys; raises 404 with code 1600 (spec 4.4), 409 if it is in use."""

    def attempt() -> None:
        domain = get_owned(scope, name)
        references.check_unused(references.SENDING_DOMAIN, domain.account_id, domain.domain)
        store.delete(domain, *further_keys.deletion(domain.domain))

    retry_conflicts(attempt)


def _allowed_name(text: str) -> str:
    try:
        name = domain_names.canonical(text)
    except domain_names.BadName as error:
        raise _bad_name(text, str(error)) from None
    if _is_restricted(name):
        raise claims.restricted(name)
    if len(domain_names.parents(name)) > _MOST_PARENTS:
        raise _bad_name(text, "it has too many parts")
    return name


def _bad_name(text: str, reason: str) -> ApiError:
    return bad_format(f"Error validating domain name syntax for domain: '{text[:300]}': {reason}")


def _is_restricted(name: str) -> bool:
    """Tell whether the name is a mailbox provider's or a public suffix: nobody may send from it."""
    providers = settings().restricted_domains.split(",")
    return domain_names.is_public_suffix(name) or any(
        domain_names.is_within(name, provider) for provider in providers if provider
    )


def _first_key(body: NewDomain, name: str) -> tuple[DkimKey | None, bool]:
    """Return the new domain's key and whether it was generated; a key in the request wins."""
    dkim = body.dkim or DkimBody()
    if dkim.has_key:
        return imported_key(dkim, name), False
    if body.generate_dkim is False:
        return None, False
    return generated_key(dkim, name, body.dkim_key_length), True


def _passes(domain: SendingDomain, scope: Scope, filters: Mapping[str, str | bool]) -> bool:
    return all(
        value
        == (
            domain.is_default_in(scope)
            if name == "is_default_bounce_domain"
            else getattr(domain.status, name)
        )
        for name, value in filters.items()
    )


def _published_key(domain: SendingDomain, body: DkimBody) -> DkimKey:
    """Return the new key if its DNS record is already there; raises 1404."""
    key = changed_key(domain.dkim, body, domain.domain)
    outcome = check_dkim(key)
    if outcome.error:
        text = f"Unable to verify DKIM record of {domain.domain}. {outcome.error}"
        raise endpoint_failed(text)
    return key


def _changed(
    domain: SendingDomain, body: DomainUpdate, link: str | None, key: DkimKey | None
) -> SendingDomain:
    if link is not None:
        domain = replace(domain, tracking_domain=link)
    if body.shared_with_subaccounts is not None:
        domain = replace(domain, shared_with_subaccounts=body.shared_with_subaccounts)
    if key is not None:
        domain = with_status(replace(domain, dkim=key), dkim_status=VALID)
        domain = with_next_check(domain, clock.now())
    if body.is_default_bounce_domain is not None:
        if body.is_default_bounce_domain and not domain.may_take_bounces:
            raise bad_format(
                "is_default_bounce_domain needs a cname_status or an mx_status that is valid, and "
                "a domain that is not blocked"
            )
        domain = replace(domain, is_default_bounce_domain=body.is_default_bounce_domain)
    return domain


def _check_unused(before: SendingDomain, after: SendingDomain) -> None:
    """Raise 409 with code 1602 if something needs what a change takes away."""
    if before.shared_with_subaccounts and not after.shared_with_subaccounts:
        references.check_unused(references.SHARED_DOMAIN, before.account_id, before.domain)
    if before.dkim and after.dkim and before.dkim.selector != after.dkim.selector:
        check_unused_key(before, before.dkim)


def _naming(domain: SendingDomain) -> list[Write]:
    return naming(domain.account_id, domain.subaccount_id, domain.tracking_domain)


def _save(before: SendingDomain, after: SendingDomain, also: Sequence[Write]) -> None:
    if after.is_default_bounce_domain and not before.is_default_bounce_domain:
        store.make_default(before, after, *also)
    else:
        store.save(before, after, *also)
