"""What the operator blocks: nobody registers it, and what is registered stops to send (spec 2.5).

A block is on a name and all names below it. Sending stops with the next unit of messages, because
every unit asks for the domain anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from chalicelib.core.domain_names import canonical, parents
from chalicelib.sending_domains import store
from chalicelib.sending_domains.claims import store as claims
from chalicelib.sending_domains.model import BLOCKED, VALID, SendingDomain


def block(name: str) -> list[str]:
    """Block a name; return the registered domains that stop to send.

    Raises ``domain_names.BadName`` for what is no domain name.
    """
    name = canonical(name)
    claims.block(name)
    return _set_status(name, lambda domain: BLOCKED)


def unblock(name: str) -> list[str]:
    """Take back :func:`block`; return the registered domains it was about.

    What a block above or below still covers stays blocked.
    """
    name = canonical(name)
    claims.unblock(name)
    return _set_status(name, _status_of)


def _status_of(domain: SendingDomain) -> str:
    blocked = claims.is_blocked(domain.domain, parents(domain.domain))
    return BLOCKED if blocked else VALID


def _set_status(name: str, status_of: Callable[[SendingDomain], str]) -> list[str]:
    def apply(domain: SendingDomain) -> SendingDomain:
        status = replace(domain.status, compliance_status=status_of(domain))
        return replace(domain, status=status)

    found = sorted(domain.domain for domain in store.within(name))
    for each in found:
        store.change(each, apply)
    return found
