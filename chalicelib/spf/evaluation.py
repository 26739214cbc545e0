"""Evaluate SPF for a sender (RFC 7208 4): at most ten terms with look-ups, two of them void."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, Protocol

from chalicelib.core import clock
from chalicelib.core.dns import LookupFailed
from chalicelib.core.domain_names import LONGEST, LONGEST_LABEL, is_within
from chalicelib.spf import macros, record
from chalicelib.spf.record import BadRecord, Mechanism, SpfRecord

NONE: Final = "none"
NEUTRAL: Final = "neutral"
PASS: Final = "pass"
FAIL: Final = "fail"
TEMPORARY: Final = "temperror"
PERMANENT: Final = "permerror"

MOST_TERMS: Final = 10
MOST_VOID: Final = 2
_MOST_NAMES: Final = 10

Address = IPv4Address | IPv6Address


class Lookups(Protocol):
    """Looks up DNS records, as ``core.cached_dns.Lookups`` does."""

    def values(self, name: str, kind: str) -> Sequence[str]:
        """Return the records of a name; raises ``dns.LookupFailed``."""
        ...

    def host_names(self, address: str) -> Sequence[str]:
        """Return the names of an address; raises ``dns.LookupFailed``."""
        ...


@dataclass(frozen=True, slots=True)
class SpfResult:
    """A result of RFC 7208 2.6, why it is so, and the explanation of the domain for a fail."""

    result: str
    reason: str
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sends: the address of the client, its HELO name, and the address that is checked.

    An address without a local part stands for postmaster. ``receiver`` is this host's name, which
    an explanation may show.
    """

    ip: str
    helo: str
    address: str
    receiver: str = "unknown"


def check(sender: Sender, lookups: Lookups) -> SpfResult:
    """Return the result for the domain of the sender's address."""
    local, _, domain = sender.address.rpartition("@")
    try:
        address = ip_address(sender.ip)
    except ValueError:
        return SpfResult(NONE, "the address of the client is unknown")
    if address.version == 6 and address.ipv4_mapped:
        address = address.ipv4_mapped
    evaluation = _Evaluation(sender, address, local or "postmaster", domain, lookups)
    return evaluation.result_for(domain)


@dataclass(slots=True)
class _Evaluation:
    """One check, with what counts against its limits."""

    sender: Sender
    ip: Address
    local: str
    origin: str
    lookups: Lookups
    terms: int = 0
    void: int = 0
    names: list[str] | None = None

    def result_for(self, domain: str) -> SpfResult:
        try:
            return self._check_host(domain)
        except LookupFailed as error:
            return SpfResult(TEMPORARY, str(error))
        except BadRecord as error:
            return SpfResult(PERMANENT, str(error))
        except macros.TooLong:
            return SpfResult(PERMANENT, "a macro gives a text that is too long")

    def _check_host(self, domain: str, *, is_included: bool = False) -> SpfResult:
        """Return the result of a domain's record; raises what :meth:`result_for` catches."""
        if not is_domain(domain):
            return SpfResult(NONE, "the sender has no domain name")
        text = record.select(self.lookups.values(domain, "TXT"))
        if text is None:
            return SpfResult(NONE, f"{domain} has no SPF record")
        policy = record.read(text)
        for mechanism in policy.mechanisms:
            if self._matches(mechanism, domain):
                reason = f"{mechanism.text[:200]} of {domain} matches {self.ip}"
                is_fail = mechanism.result == FAIL and not is_included
                explanation = self._explanation(policy, domain) if is_fail else ""
                return SpfResult(mechanism.result, reason, explanation)
        if policy.redirect:
            return self._redirected(policy.redirect, domain, is_included=is_included)
        return SpfResult(NEUTRAL, f"no term of {domain} matches {self.ip}")

    def _redirected(self, spec: str, domain: str, *, is_included: bool) -> SpfResult:
        self._count_term()
        target = self._target(spec, domain)
        result = self._check_host(target, is_included=is_included)
        if result.result == NONE:
            raise BadRecord(f"{domain} redirects to {target}, which has no SPF record")
        return result

    def _matches(self, mechanism: Mechanism, domain: str) -> bool:
        if mechanism.name == "all":
            return True
        if mechanism.network is not None:
            return self.ip in mechanism.network
        self._count_term()
        target = self._target(mechanism.domain, domain)
        match mechanism.name:
            case "include":
                return self._includes(target, domain)
            case "a":
                return self._is_address_of(target, mechanism)
            case "mx":
                return self._is_mail_host_of(target, mechanism)
            case "ptr":
                return any(is_within(name, target.lower()) for name in self._validated_names())
        return bool(self._values(target, "A"))

    def _includes(self, target: str, domain: str) -> bool:
        result = self._check_host(target, is_included=True)
        if result.result == NONE:
            raise BadRecord(f"{domain} includes {target}, which has no SPF record")
        return result.result == PASS

    def _is_address_of(self, name: str, mechanism: Mechanism) -> bool:
        return self._is_among(self._values(name, self._address_type()), mechanism)

    def _is_mail_host_of(self, name: str, mechanism: Mechanism) -> bool:
        hosts = self._values(name, "MX")
        if len(hosts) > _MOST_NAMES:
            raise BadRecord(f"{name} has more than {_MOST_NAMES} MX records")
        return any(self._is_address_of(host, mechanism) for host in hosts)

    def _is_among(self, addresses: Sequence[str], mechanism: Mechanism) -> bool:
        prefix = mechanism.prefixes[self.ip.version == 6]
        return any(
            self.ip in ip_network(f"{address}/{prefix}", strict=False) for address in addresses
        )

    def _validated_names(self) -> list[str]:
        """Return the names of the address that lead back to it (RFC 7208 5.5); errors give none."""
        try:
            names = self.lookups.host_names(str(self.ip))
        except LookupFailed:
            return []
        self._count_void(names)
        if self.names is None:
            self.names = [name for name in names[:_MOST_NAMES] if self._leads_back(name)]
        return self.names

    def _leads_back(self, name: str) -> bool:
        try:
            addresses = self.lookups.values(name, self._address_type())
        except LookupFailed:
            return False
        return any(ip_address(address) == self.ip for address in addresses)

    def _address_type(self) -> str:
        return "A" if self.ip.version == 4 else "AAAA"

    def _values(self, name: str, kind: str) -> Sequence[str]:
        values = self.lookups.values(name, kind)
        self._count_void(values)
        return values

    def _count_term(self) -> None:
        self.terms += 1
        if self.terms > MOST_TERMS:
            raise BadRecord(f"more than {MOST_TERMS} terms need look-ups")

    def _count_void(self, values: Sequence[str]) -> None:
        self.void += not values
        if self.void > MOST_VOID:
            raise BadRecord(f"more than {MOST_VOID} look-ups found nothing")

    def _target(self, spec: str, domain: str) -> str:
        return macros.shorten(self._expanded(spec, domain)) if spec else domain

    def _expanded(self, text: str, domain: str) -> str:
        return macros.expand(text, lambda letter: self._macro(letter, domain))

    def _explanation(self, policy: SpfRecord, domain: str) -> str:
        """Return the domain's own words for a fail (RFC 7208 6.2); any problem gives none."""
        if not policy.explanation:
            return ""
        try:
            texts = self.lookups.values(self._target(policy.explanation, domain), "TXT")
            if len(texts) != 1 or not macros.is_explanation(texts[0]):
                return ""
            return self._expanded(texts[0], domain)
        except (LookupFailed, BadRecord, macros.TooLong):
            return ""

    def _macro(self, letter: str, domain: str) -> str:
        match letter:
            case "s":
                return f"{self.local}@{self.origin}"
            case "l":
                return self.local
            case "o":
                return self.origin
            case "d":
                return domain
            case "i":
                return _dotted(self.ip)
            case "p":
                return self._best_name(domain)
            case "v":
                return "in-addr" if self.ip.version == 4 else "ip6"
            case "h":
                return self.sender.helo
            case "c":
                return str(self.ip)
            case "r":
                return self.sender.receiver
        return str(int(clock.now()))

    def _best_name(self, domain: str) -> str:
        """Return the name for the macro p: the domain, else one below it, else any."""
        names = self._validated_names()
        domain = domain.lower()
        within = sorted(filter(lambda name: is_within(name, domain), names), key=len)
        return next(iter([*within, *names]), "unknown")


def _dotted(ip: Address) -> str:
    return str(ip) if ip.version == 4 else ".".join(ip.exploded.replace(":", "").upper())


def is_domain(name: str) -> bool:
    """Tell whether a name has at least two labels of allowed lengths (RFC 7208 4.3)."""
    labels = name.removesuffix(".").split(".")
    is_short = len(name) <= LONGEST and all(0 < len(label) <= LONGEST_LABEL for label in labels)
    return is_short and len(labels) > 1 and not name.startswith("[")
