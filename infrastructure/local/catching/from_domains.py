"""Register the From domains of caught mail as verified sending domains, so that it can be sent.

They belong to the primary account, which shares them with its subaccounts. All have one DKIM key,
because making one for each would take longer than sending. A domain that is there already is only
verified; one that is blocked, or another account's, is left as it is, and the service refuses it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache

from chalicelib.core import clock, domain_names
from chalicelib.core.addresses import domain_of
from chalicelib.core.dynamo import retry_conflicts
from chalicelib.core.errors import ApiError
from chalicelib.dkim import key_pair
from chalicelib.dkim.sealed_key import sealed_key
from chalicelib.mail_format.from_field import from_mailbox
from chalicelib.mail_format.header_section import header_fields, split_head
from chalicelib.sending_domains import store
from chalicelib.sending_domains.lookup import find_usable
from chalicelib.sending_domains.model import DomainStatus, SendingDomain
from relay.backend import Identity

_SELECTOR = "postfinch"
_KEY_BITS = 2048


def from_domain(message: bytes) -> str:
    """Return the domain of a message's From field, empty if it has no single author."""
    try:
        head_end, _ = split_head(message, 0, len(message))
        return domain_of(from_mailbox(header_fields(message, 0, head_end)).email)
    except ValueError:
        return ""


def provide(name: str, identity: Identity) -> None:
    """Let the sender send from a domain; costs nothing while the domain is in the config cache."""
    with suppress(ApiError):
        find_usable(name, identity.account_id, identity.subaccount_id)
        return
    with suppress(domain_names.BadName):
        retry_conflicts(lambda: _register(domain_names.canonical(name), identity))


def _register(name: str, identity: Identity) -> None:
    domain = store.get(name)
    if domain is None:
        # False: another account has a claim on the name, or another thread was faster
        store.create(_verified(name, identity.account_id))
    elif domain.account_id == identity.account_id and not domain.is_blocked:
        _make_usable(domain, identity)


def _make_usable(domain: SendingDomain, identity: Identity) -> None:
    is_shared = domain.shared_with_subaccounts or (
        identity.subaccount_id is not None and domain.subaccount_id is None
    )
    status = replace(domain.status, ownership_verified=True)
    after = replace(domain, status=status, unverified_since=0.0, shared_with_subaccounts=is_shared)
    if after != domain:
        store.save(domain, after)


def _verified(name: str, account_id: int) -> SendingDomain:
    return SendingDomain(
        domain=name,
        account_id=account_id,
        created=clock.now(),
        status=DomainStatus(ownership_verified=True, dkim_status="valid"),
        dkim=sealed_key(_pair(), _SELECTOR, name),
        shared_with_subaccounts=True,
    )


@cache
def _pair() -> key_pair.KeyPair:
    return key_pair.generate_key(_KEY_BITS)
