"""What acceptance and generation ask: may this sender use this domain, which key signs its mail,
where its bounces go.
"""

from __future__ import annotations

from chalicelib.core import defaults
from chalicelib.core.addresses import domain_of
from chalicelib.core.errors import invalid_dkim_key, invalid_domain, resource_not_found
from chalicelib.core.reading import Read, read_config
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains import store
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.mail_domain import is_enterprise
from chalicelib.sending_domains.model import VALID, SendingDomain

_LONGEST_SELECTOR = 253


def check_sending_domain(name: str, account_id: int, subaccount_id: int | None) -> SendingDomain:
    """Return the domain; raises 7001 if it is not set up for this sender or not verified."""
    return check_found(store.get(name), name, account_id, subaccount_id)


def check_found(
    domain: SendingDomain | None, name: str, account_id: int, subaccount_id: int | None
) -> SendingDomain:
    """Judge what was found under ``name`` as :func:`check_sending_domain` does."""
    if domain is None or not domain.usable_by(account_id, subaccount_id):
        raise invalid_domain(f"Unconfigured Sending Domain <{name}>")
    if not domain.may_send:
        raise invalid_domain(f"Unverified Sending Domain <{name}>")
    return domain


def signing_key(domain: SendingDomain, selector: str | None = None) -> DkimKey | None:
    """Return the key that signs the domain's mail: its own, or that with the selector.

    A further key may be named by its id as well. Without a selector the answer is ``None`` when
    the domain's own key is not verified; with one, an unknown or unverified key raises 400 with
    code 1100 (spec 4.1).
    """
    if not selector:
        return domain.signing_key
    if domain.dkim and domain.dkim.selector.lower() == selector.lower():
        found = domain.signing_key
    elif len(selector) <= _LONGEST_SELECTOR and selector.isascii():
        named = further_keys.named(domain.domain, selector)
        found = named.key if named and named.status == VALID else None
    else:
        found = None
    if found is None:
        text = f"'{selector[:300]}' is no verified DKIM key of {domain.domain}"
        raise invalid_dkim_key(text)
    return found


def bounce_domain_for(
    account_id: int,
    subaccount_id: int | None,
    return_path: str = "",
    *,
    sending: SendingDomain | None = None,
    read: Read = read_config,
) -> str:
    """Return the domain of the envelope sender (spec 2.1 ``return_path``, 2.5 rule 5).

    It is that of ``return_path``, else the sender's default bounce domain, else the primary
    account's if that is shared, else the service's own. A ``return_path`` whose domain the sender
    may not use or that takes no bounces raises 7001; an enterprise account may name any. Nothing
    is read when ``sending``, the sending domain at hand, is the one named or the sender's default.
    """
    if return_path:
        name = domain_of(return_path)
        found = sending if sending and sending.domain == name else _found(name, read)
        return _named_bounce_domain(account_id, subaccount_id, name, found)
    owner = subaccount_id or None
    if sending and sending.is_default_bounce_domain and sending.subaccount_id == owner:
        return sending.domain
    for name in defaults.of_sender(store.BOUNCE, account_id, subaccount_id, read):
        found = _found(name, read)
        if found and found.usable_by(account_id, subaccount_id) and found.may_bounce:
            return found.domain
    return settings().system_domain


def _found(name: str, read: Read) -> SendingDomain | None:
    item = read([place := store.key_of(name)]).get(place)
    return store.from_item(item) if item else None


def _named_bounce_domain(
    account_id: int, subaccount_id: int | None, name: str, found: SendingDomain | None
) -> str:
    if found and found.usable_by(account_id, subaccount_id) and found.may_bounce:
        return found.domain
    if is_enterprise(account_id):
        return name
    raise invalid_domain(f"Unverified Bounce Domain <{name}>")


def owned(scope: Scope, name: str) -> SendingDomain:
    """Return a domain that belongs to the scope; raises 404 with code 1600."""
    found = store.find(scope, name)
    if found is None:
        raise resource_not_found(f"Domain '{name[:300]}' does not exist")
    return found
