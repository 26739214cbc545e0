"""Define rules of mail hosts, and requirements: a rule applied to one domain or address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MET: Final = "met"
UNMET: Final = "unmet"
UNDECIDED: Final = "undecided"
STATES: Final = (MET, UNMET, UNDECIDED)


@dataclass(frozen=True, slots=True)
class Source:
    """A mail host that has a rule, and the URL of the page that says so."""

    host: str
    url: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; ``required_by`` are the hosts that publish it."""

    id: str
    title: str
    required_by: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class DnsRecord:
    """A DNS record to publish."""

    type: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do about a requirement, with the record to publish if there is one."""

    text: str
    record: DnsRecord | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """A rule and its state for one domain or address.

    ``evidence`` says what the DNS or the settings show. A requirement that is met has a remedy when
    the hosts recommend more than they require.
    """

    rule: Rule
    state: str
    evidence: str
    remedy: Remedy | None = None


def met(rule: Rule, evidence: str, advice: Remedy | None = None) -> Requirement:
    """Return a requirement that is met; ``advice`` is what the hosts recommend beyond it."""
    return Requirement(rule, MET, evidence, advice)


def unmet(rule: Rule, evidence: str, text: str, record: DnsRecord | None = None) -> Requirement:
    """Return a requirement that is not met, with its remedy."""
    return Requirement(rule, UNMET, evidence, Remedy(text, record))


def undecided(rule: Rule, evidence: str, text: str = "") -> Requirement:
    """Return a requirement that cannot be judged from here."""
    return Requirement(rule, UNDECIDED, evidence, Remedy(text) if text else None)
