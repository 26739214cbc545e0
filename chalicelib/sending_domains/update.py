"""Changes to a sending domain that its owner asks for (spec 4.4, PUT and DELETE)."""

from __future__ import annotations

from dataclasses import replace

from chalicelib.core import clock
from chalicelib.core.errors import Forbidden, Unavailable, bad_format, endpoint_failed
from chalicelib.core.fields import Body
from chalicelib.core.scope import Scope
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains import store
from chalicelib.sending_domains.dkim_request import DkimBody, changed_key
from chalicelib.sending_domains.dns_checks import check_dkim
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.lookup import owned
from chalicelib.sending_domains.mail_domain import is_enterprise
from chalicelib.sending_domains.model import VALID, SendingDomain, with_status
from chalicelib.sending_domains.registration import check_sharing
from chalicelib.sending_domains.schedule import scheduled
from chalicelib.tracking_domains.lookup import check_link

_ATTEMPTS = 50


class DomainUpdate(Body):
    """The body of ``PUT /sending-domains/{domain}``; what it leaves out stays as it is."""

    tracking_domain: str | None = None
    dkim: DkimBody | None = None
    shared_with_subaccounts: bool | None = None
    is_default_bounce_domain: bool | None = None


def update(scope: Scope, name: str, body: DomainUpdate) -> SendingDomain:
    """Make all the changes of the body, or none; raises 404, 422, and 400 (1200, 1404)."""
    found = owned(scope, name)
    if body.is_default_bounce_domain and is_enterprise(scope.account_id):
        raise Forbidden("default bounce domains are not available on Enterprise")
    if body.shared_with_subaccounts is not None:
        check_sharing(found.subaccount_id, body.shared_with_subaccounts)
    link = body.tracking_domain
    if link is not None:
        link = check_link(found.account_id, found.subaccount_id, link)
    key = _proven_key(found, body.dkim) if body.dkim is not None else None
    for _ in range(_ATTEMPTS):
        before = owned(scope, name)
        after = _changed(before, body, link, key)
        if _saved(before, after):
            return after
    raise Unavailable


def delete(scope: Scope, name: str) -> None:
    """Delete a domain with its keys; raises 404 with code 1600 (spec 4.4)."""
    for _ in range(_ATTEMPTS):
        found = owned(scope, name)
        further_keys.clear(found.domain)
        if store.delete(found):
            return
    raise Unavailable


def _proven_key(domain: SendingDomain, given: DkimBody) -> DkimKey:
    """Return the new key if its DNS record is there already; raises 1404."""
    key = changed_key(domain.dkim, given, domain.domain)
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
        domain = scheduled(domain, clock.now())
    if body.is_default_bounce_domain is not None:
        if body.is_default_bounce_domain and not domain.may_bounce:
            raise bad_format(
                "is_default_bounce_domain needs a cname_status or an mx_status that is valid"
            )
        domain = replace(domain, is_default_bounce_domain=body.is_default_bounce_domain)
    return domain


def _saved(before: SendingDomain, after: SendingDomain) -> bool:
    if after.is_default_bounce_domain and not before.is_default_bounce_domain:
        return store.make_default(before, after)
    return store.save(before, after)
