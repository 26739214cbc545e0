"""Choose the sending domain, signing key and bounce domain that a sender may use.

Acceptance and generation call this module. It raises the API errors of a choice that is not valid.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from chalicelib.accounts.store import accounts
from chalicelib.core import config_cache, defaults
from chalicelib.core.addresses import domain_of
from chalicelib.core.errors import ApiError, invalid_dkim_key, invalid_domain, resource_not_found
from chalicelib.core.reading import Read, read_config
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains import store
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.model import VALID, SendingDomain

_LONGEST_SELECTOR = 253


def find_usable(
    name: str, account_id: int, subaccount_id: int | None, read: Read = read_config
) -> SendingDomain:
    """Return the domain with this name if the sender may send from it; else raise 7001.

    One that can be used is cached for ``KEY_CACHE_SECONDS``: a block, a deletion and a new key take
    effect in other processes after that time. A domain that cannot be used is read each time.
    """
    key = store.key_of(name)
    if item := config_cache.cached_item(key):
        with suppress(ApiError):
            return check_usable(store.from_item(item), name, account_id, subaccount_id)
    item = read([key]).get(key)
    domain = check_usable(store.from_item(item) if item else None, name, account_id, subaccount_id)
    config_cache.learn([key], {key: item} if item else {})
    return domain


def check_usable(
    domain: SendingDomain | None, name: str, account_id: int, subaccount_id: int | None
) -> SendingDomain:
    """Return ``domain``, which was stored under ``name``, if this sender may send from it.

    Raises 400 with code 7001 if it is not set up for the sender, blocked, or not verified.
    """
    if domain is None or not domain.usable_by(account_id, subaccount_id):
        raise invalid_domain(f"Unconfigured Sending Domain <{name}>")
    if domain.is_blocked:
        raise invalid_domain(f"Blocked Sending Domain <{name}>")
    if not domain.may_send:
        raise invalid_domain(f"Unverified Sending Domain <{name}>")
    return domain


def signing_key(domain: SendingDomain, selector: str | None = None) -> DkimKey | None:
    """Return the key that signs the domain's mail: its own, or that with the selector.

    ``selector`` may also be the id of a further key. Without it the result is ``None`` when the
    domain's own key is not verified; with it, an unknown or unverified key raises 400 with code
    1100 (spec 4.1).
    """
    if not selector:
        return domain.signing_key
    if domain.dkim and domain.dkim.selector.lower() == selector.lower():
        key = domain.signing_key
    elif len(selector) <= _LONGEST_SELECTOR and selector.isascii():
        further = further_keys.find(domain.domain, selector)
        key = further.key if further and further.status == VALID else None
    else:
        key = None
    if key is None:
        text = f"'{selector[:300]}' is no verified DKIM key of {domain.domain}"
        raise invalid_dkim_key(text)
    return key


def bounce_domain_for(
    account_id: int,
    subaccount_id: int | None,
    return_path: str = "",
    *,
    sending: SendingDomain | None = None,
    read: Read = read_config,
) -> str:
    """Return the domain of the envelope sender (spec 2.1 ``return_path``, 2.5 rule 5).

    The first of these: the domain of ``return_path``, the sender's own default bounce domain (a
    subaccount does not use that of the primary account), the service's own. A default that takes no
    bounces now is skipped. A ``return_path`` raises 7001 if the sender may not use its domain or
    the domain takes no bounces; an enterprise account may name any domain. Nothing is read when
    ``sending``, the message's sending domain, is the result.
    """
    if return_path:
        name = domain_of(return_path)
        domain = sending if sending and sending.domain == name else _read_domain(name, read)
        return _requested_bounce_domain(account_id, subaccount_id, name, domain)
    owner = account_id, subaccount_id
    domain = sending if sending and sending.is_default_of(*owner) else _default(*owner, read)
    if domain and domain.usable_by(*owner) and domain.may_take_bounces:
        return domain.domain
    return settings().system_domain


def _default(account_id: int, subaccount_id: int | None, read: Read) -> SendingDomain | None:
    name = defaults.of_owner(store.BOUNCE, account_id, subaccount_id, read)
    return _read_domain(name, read) if name else None


def _read_domain(name: str, read: Read) -> SendingDomain | None:
    item = read([key := store.key_of(name)]).get(key)
    return store.from_item(item) if item else None


def _requested_bounce_domain(
    account_id: int, subaccount_id: int | None, name: str, domain: SendingDomain | None
) -> str:
    if domain and domain.usable_by(account_id, subaccount_id) and domain.may_take_bounces:
        return domain.domain
    if domain and domain.is_blocked:
        raise invalid_domain(f"Blocked Bounce Domain <{name}>")
    if is_enterprise(account_id):
        return name
    raise invalid_domain(f"Unverified Bounce Domain <{name}>")


def is_enterprise(account_id: int) -> bool:
    """Tell whether the account is an enterprise one."""
    try:
        return accounts.get_cached(account_id).is_enterprise
    except accounts.UnknownAccount:
        return False


def mail_domain(account_id: int) -> str:
    """Return the name that CNAME and MX records of the account's domains must point to.

    It is ``SYSTEM_DOMAIN`` (one for each region) for a standard account. An enterprise account has
    a mail domain of its own (spec 2.5 rule 3).
    """
    system = settings().system_domain.lower()
    if not is_enterprise(account_id):
        return system
    return settings().tenant_domain.format(account=account_id, system=system).lower()


def linked_to(account_id: int, tracking_domain: str) -> Iterator[str]:
    """Yield the sending domains whose links have a tracking domain."""
    for domain in store.in_scope(Scope(account_id, None)):
        if domain.tracking_domain == tracking_domain:
            yield f"sending domain {domain.domain}"


def get_owned(scope: Scope, name: str) -> SendingDomain:
    """Return a domain that belongs to the scope; raises 404 with code 1600."""
    domain = store.find(scope, name)
    if domain is None:
        raise _not_found(name)
    return domain


def get_readable(scope: Scope, name: str) -> SendingDomain:
    """Return a domain of the scope, or one shared with it; raises 404 with code 1600."""
    domain = store.get(name)
    if domain is None or not domain.readable_in(scope):
        raise _not_found(name)
    return domain


def _not_found(name: str) -> ApiError:
    return resource_not_found(f"Domain '{name[:300]}' does not exist")
