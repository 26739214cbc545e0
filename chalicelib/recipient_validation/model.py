"""Judge an address from its syntax, its domain and its history with this service.

The words of results and reasons are those of the API: ``valid``, ``neutral``, ``risky``,
``undeliverable`` and ``typo``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from chalicelib.core.addresses import domain_of, is_address
from chalicelib.recipient_validation.address_kinds import is_disposable, is_role
from chalicelib.recipient_validation.free_providers import is_free
from chalicelib.recipient_validation.typos import intended_domain

VALID: Final = "valid"
NEUTRAL: Final = "neutral"
RISKY: Final = "risky"
UNDELIVERABLE: Final = "undeliverable"
TYPO: Final = "typo"
RESULTS: Final = (VALID, NEUTRAL, RISKY, UNDELIVERABLE, TYPO)
#: The results of addresses that mail may be sent to
GOOD: Final = (VALID, NEUTRAL, RISKY)

INVALID_SYNTAX: Final = "Invalid Syntax"
INVALID_DOMAIN: Final = "Invalid Domain"
INVALID_RECIPIENT: Final = "Invalid Recipient"
REASONS: Final = (INVALID_SYNTAX, INVALID_DOMAIN, INVALID_RECIPIENT)


class MailRoute(Enum):
    """What the DNS says about mail to a domain."""

    #: It has MX records
    HOSTS = "hosts"
    #: It has no MX record, and addresses: mail goes there (RFC 5321 5.1)
    ADDRESS = "address"
    #: It has neither, or it does not exist
    NONE = "none"
    #: Its null MX says that it takes no mail (RFC 7505)
    REFUSED = "refused"
    #: The DNS gave no answer
    UNKNOWN = "unknown"


NO_MAIL: Final = (MailRoute.NONE, MailRoute.REFUSED)

#: What an address can be expected to be worth (0 to 100), before and after a recent delivery
_CONFIDENCE: Final = {
    "proven": 99,
    "hosts": 85,
    "role": 60,
    "address": 50,
    "unknown": 50,
    "disposable": 25,
    "typo": 10,
}
_PROVEN_ROLE: Final = 85
_PROVEN_DISPOSABLE: Final = 50


@dataclass(frozen=True, slots=True)
class History:
    """What this service knows about an address from mail that it sent.

    ``suppressed``: it is on the suppression list, which hard bounces write. ``delivered``: a host
    took a message to it within the last 90 days.
    """

    suppressed: bool = False
    delivered: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known about one address. ``did_you_mean`` is the whole corrected address."""

    address: str
    valid: bool
    result: str
    confidence: int
    reason: str = ""
    role: bool = False
    disposable: bool = False
    free: bool = False
    did_you_mean: str = ""


def domain_to_look_up(address: str) -> str | None:
    """Return the domain of an address as the DNS has it, ``None`` if the DNS need not be asked."""
    if not is_address(address):
        return None
    domain = domain_of(address)
    return domain if domain.isascii() else None


def judge(address: str, route: MailRoute, history: History) -> Verdict:
    """Judge an address; ``route`` is of no account where :func:`domain_to_look_up` has none."""
    if not is_address(address):
        return Verdict(address, False, UNDELIVERABLE, 0, INVALID_SYNTAX)
    local, domain = address.rpartition("@")[0], domain_of(address)
    if not domain.isascii():  # it has no A-labels, so nobody can look it up
        route = MailRoute.NONE
    verdict = Verdict(
        address,
        valid=route not in NO_MAIL,
        result=VALID,
        confidence=_CONFIDENCE["hosts"],
        role=is_role(local),
        disposable=is_disposable(domain),
        free=is_free(domain),
    )
    return _bad(verdict, local, domain, history) or _good(verdict, route, history)


def _bad(verdict: Verdict, local: str, domain: str, history: History) -> Verdict | None:
    """Return the verdict about an address that mail should not be sent to."""
    if verdict.valid and history.suppressed:
        return replace(verdict, result=UNDELIVERABLE, reason=INVALID_RECIPIENT, confidence=0)
    if meant := intended_domain(domain, takes_mail=verdict.valid):
        return replace(
            verdict,
            result=TYPO,
            reason=INVALID_DOMAIN,
            confidence=_CONFIDENCE["typo"] if verdict.valid else 0,
            did_you_mean=f"{local}@{meant}",
        )
    if not verdict.valid:
        return replace(verdict, result=UNDELIVERABLE, reason=INVALID_DOMAIN, confidence=0)
    return None


def _good(verdict: Verdict, route: MailRoute, history: History) -> Verdict:
    if verdict.disposable:
        confidence = _PROVEN_DISPOSABLE if history.delivered else _CONFIDENCE["disposable"]
        return replace(verdict, result=RISKY, confidence=confidence)
    if verdict.role:
        confidence = _PROVEN_ROLE if history.delivered else _CONFIDENCE["role"]
        return replace(verdict, result=RISKY, confidence=confidence)
    if history.delivered:
        return replace(verdict, confidence=_CONFIDENCE["proven"])
    if route is MailRoute.HOSTS:
        return verdict
    return replace(verdict, result=NEUTRAL, confidence=_CONFIDENCE[route.value])
