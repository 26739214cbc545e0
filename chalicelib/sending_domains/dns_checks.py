"""What the DNS says of a domain: its DKIM, CNAME and MX records, judged (spec 2.5, DNS rules)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chalicelib.core import dns
from chalicelib.dkim import dns_record
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains.model import INVALID, PENDING, UNVERIFIED, VALID

_LONGEST_SHOWN: Final = 2000


@dataclass(frozen=True, slots=True)
class Outcome:
    """A check's outcome: the record that was found, and what is wrong (nothing: empty).

    ``answered`` is false when the DNS could not tell.
    """

    record: str = ""
    error: str = ""
    answered: bool = True

    def status_after(self, before: str) -> str:
        """Return the check's status, given the one before.

        Without an answer it stays what it was, except that what was never checked is pending.
        """
        if not self.answered:
            return PENDING if before == UNVERIFIED else before
        return INVALID if self.error else VALID


def check_dkim(key: DkimKey) -> Outcome:
    """Look for the key's TXT record (spec 2.5 rule 2)."""
    name = key.record_name
    try:
        found = dns.texts(name)
        return Outcome(dns_record.matching_record(found, key.public))
    except dns.LookupFailed as error:
        return _unanswered(error)
    except dns_record.BadRecord as error:
        return Outcome(_shown(found), f"DNS DKIM query error at {name}: {error}"[:_LONGEST_SHOWN])


def check_cname(domain: str, target: str) -> Outcome:
    """Look whether the domain is an alias, directly or by others, of ``target`` (rule 3)."""
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
    """Look whether the domain's mail goes to ``target`` (rule 4)."""
    try:
        hosts = dns.mail_hosts(domain)
    except dns.LookupFailed as error:
        return _unanswered(error)
    if hosts and set(hosts) == {target}:
        return Outcome(target)
    if hosts:
        return Outcome(_shown(hosts), f"the MX records of {domain} do not lead to {target} alone")
    return Outcome("", f"{domain} has no MX record; it should lead to {target}")


def _unanswered(error: dns.LookupFailed) -> Outcome:
    return Outcome(error=str(error), answered=False)


def _shown(found: list[str]) -> str:
    return ", ".join(found)[:_LONGEST_SHOWN]
