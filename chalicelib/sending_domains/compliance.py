"""Block names for the operator: nobody can register them or send from them (spec 2.5).

A block covers a name and all names below it. Registered domains stop sending with the next work
unit, because every work unit reads its domain again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chalicelib.core.domain_names import canonical, parents
from chalicelib.sending_domains import store
from chalicelib.sending_domains.claims import store as claims
from chalicelib.sending_domains.model import BLOCKED, VALID, SendingDomain


def block(name: str) -> list[str]:
    """Block a name; return the registered domains that can no longer send.

    Raises ``domain_names.BadName`` if the text is not a domain name.
    """
    name = canonical(name)
    claims.block(name)
    return _set_status(name, lambda domain: BLOCKED)


def unblock(name: str) -> list[str]:
    """Undo :func:`block`; return the registered domains at and below the name.

    A domain that another block still covers stays blocked.
    """
    name = canonical(name)
    claims.unblock(name)
    return _set_status(name, _status_of)


def _status_of(domain: SendingDomain) -> str:
    blocked = claims.is_blocked(domain.domain, parents(domain.domain))
    return BLOCKED if blocked else VALID


def _set_status(name: str, status_of: Callable[[SendingDomain], str]) -> list[str]:
    def edit(domain: SendingDomain) -> SendingDomain:
        status = replace(domain.status, compliance_status=status_of(domain))
        return replace(domain, status=status)

    domains = sorted(domain.domain for domain in store.within(name))
    for domain in domains:
        store.change(domain, edit)
    return domains
