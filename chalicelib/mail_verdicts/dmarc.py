"""Apply DMARC to a message: does SPF or DKIM pass for the owner of the From domain? (RFC 9989)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from chalicelib.core.cached_dns import Lookups
from chalicelib.core.dns import LookupFailed
from chalicelib.core.domain_names import in_a_labels, is_within
from chalicelib.mail_verdicts.model import (
    FAIL,
    NONE,
    PASS,
    PERMANENT,
    TEMPORARY,
    DkimVerdict,
    DmarcVerdict,
    SpfVerdict,
)
from chalicelib.sender_requirements.dmarc import (
    BadPolicy,
    DmarcRecord,
    find_record,
    organization,
)

_WEAKER: Final = {"reject": "quarantine", "quarantine": NONE}


def judge_dmarc(
    author: str, spf: SpfVerdict, dkim: Iterable[DkimVerdict], lookups: Lookups
) -> DmarcVerdict:
    """Return the verdict about the author's domain."""
    try:
        record = find_record(author, lookups.texts)
        if record is None:
            return DmarcVerdict(NONE, author, reason="the domain has no DMARC record")
        exists = "np" not in record.tags or author == record.domain or _exists(author, lookups)
        policy = record.policy_for(author, exists=exists)
        return _compare(author, record, policy, _identifiers(spf, dkim), lookups)
    except LookupFailed as error:
        return DmarcVerdict(TEMPORARY, author, reason=str(error))
    except BadPolicy as error:
        return DmarcVerdict(PERMANENT, author, reason=str(error))


def _identifiers(spf: SpfVerdict, dkim: Iterable[DkimVerdict]) -> list[tuple[str, str, str]]:
    """Return the results that DMARC looks at, each with its domain and its tag of alignment."""
    signatures = [("adkim", each.result, each.domain) for each in dkim]
    return [(tag, result, domain) for tag, result, domain in [*signatures, _spf(spf)] if domain]


def _spf(spf: SpfVerdict) -> tuple[str, str, str]:
    return "aspf", spf.result, spf.domain


def _compare(
    author: str,
    record: DmarcRecord,
    policy: str,
    identifiers: list[tuple[str, str, str]],
    lookups: Lookups,
) -> DmarcVerdict:
    alignment = _Alignment(author, record, lookups)
    for tag, result, domain in identifiers:
        if result == PASS and alignment.holds(tag, domain):
            method = "SPF" if tag == "aspf" else "DKIM"
            return DmarcVerdict(PASS, author, policy, NONE, f"{method} passes for {domain}")
    for tag, result, domain in identifiers:
        if result == TEMPORARY and alignment.holds(tag, domain):
            reason = f"the result for {domain} is not known"
            return DmarcVerdict(TEMPORARY, author, policy, NONE, reason)
    reason = f"neither SPF nor DKIM passes for {author}"
    disposition = _WEAKER.get(policy, NONE) if record.is_test else policy
    return DmarcVerdict(FAIL, author, policy, disposition, reason)


class _Alignment:
    """Tells which domains are aligned with the author's (RFC 9989 4.4)."""

    def __init__(self, author: str, record: DmarcRecord, lookups: Lookups) -> None:
        self._author = author
        self._record = record
        self._lookups = lookups
        self._owner = ""

    def holds(self, tag: str, domain: str) -> bool:
        """Tell whether a domain is aligned, in the mode of ``adkim`` or ``aspf``."""
        domain = in_a_labels(domain) or domain
        if domain == self._author:
            return True
        if self._record.is_strict(tag):
            return False
        if not self._owner:
            self._owner = organization(self._author, self._lookups.texts)
        if not is_within(domain, self._owner):
            return False
        return organization(domain, self._lookups.texts) == self._owner


def _exists(name: str, lookups: Lookups) -> bool:
    """Tell whether a name has records of mail or of hosts (RFC 9989 4.8, ``np``)."""
    return any(lookups.values(name, kind) for kind in ("A", "MX", "AAAA"))
