"""Check the DKIM, CNAME, MX, SPF and NS records of a domain (spec 2.5, DNS rules)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from chalicelib.core import dns
from chalicelib.core.domain_names import is_within
from chalicelib.dkim import dns_record
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains import spf
from chalicelib.sending_domains.model import INVALID, PENDING, UNVERIFIED, VALID

_MAX_TEXT: Final = 2000
_SPF: Final = re.compile(r"v=spf1( |$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a check: the record in the DNS, and what is wrong with it.

    ``error`` is empty if nothing is wrong. ``answered`` is false when the DNS gave no answer.
    """

    record: str = ""
    error: str = ""
    answered: bool = True

    def status_after(self, before: str) -> str:
        """Return the new status of the check, whose status is ``before``.

        Without an answer the status stays as it is, but ``unverified`` becomes ``pending``.
        """
        if not self.answered:
            return PENDING if before == UNVERIFIED else before
        return INVALID if self.error else VALID


def check_dkim(key: DkimKey) -> Outcome:
    """Look for the key's TXT record (spec 2.5 rule 2)."""
    name = key.record_name
    try:
        texts = dns.texts(name)
        return Outcome(dns_record.matching_record(texts, key.public))
    except dns.LookupFailed as error:
        return _unanswered(error)
    except dns_record.BadRecord as error:
        return Outcome(_joined(texts), f"DNS DKIM query error at {name}: {error}"[:_MAX_TEXT])


def check_cname(domain: str, target: str) -> Outcome:
    """Check that the domain is an alias of ``target``, directly or by other aliases (rule 3)."""
    chain: list[str] = []
    try:
        for name in dns.aliases(domain):
            chain.append(name)
            if name == target:
                return Outcome(target)
    except dns.LookupFailed as error:
        return _unanswered(error)
    if chain:
        return Outcome(chain[0], f"the CNAME of {domain} leads to {chain[-1]}, not to {target}")
    return Outcome("", f"{domain} has no CNAME record; it should lead to {target}")


def check_mx(domain: str, target: str) -> Outcome:
    """Check that all MX records of the domain name ``target`` (rule 4)."""
    try:
        hosts = dns.mail_hosts(domain)
    except dns.LookupFailed as error:
        return _unanswered(error)
    if hosts and set(hosts) == {target}:
        return Outcome(target)
    if hosts:
        return Outcome(_joined(hosts), f"the MX records of {domain} do not lead to {target} alone")
    return Outcome("", f"{domain} has no MX record; it should lead to {target}")


def check_spf(domain: str, addresses: list[str]) -> Outcome:
    """Check that the SPF record of the domain lets these addresses send."""
    try:
        record = next((text for text in dns.texts(domain) if _SPF.match(text)), "")
    except dns.LookupFailed as error:
        return _unanswered(error)
    result, reason = spf.evaluate(domain, addresses)
    if result == spf.PASS:
        return Outcome(record)
    text = f"the SPF result of {domain} is '{result}': {reason}"[:_MAX_TEXT]
    return Outcome(record, text, answered=result != spf.TEMPORARY)


def is_delegated(domain: str, target: str) -> bool:
    """Tell whether all name servers of the domain are the service's: at ``target`` or below it.

    Raises ``dns.LookupFailed``.
    """
    servers = dns.name_servers(domain)
    return bool(servers) and all(is_within(server, target) for server in servers)


def _unanswered(error: dns.LookupFailed) -> Outcome:
    return Outcome(error=str(error), answered=False)


def _joined(records: list[str]) -> str:
    return ", ".join(records)[:_MAX_TEXT]
