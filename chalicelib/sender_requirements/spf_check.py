"""Check that the SPF record of a return path lets the service's addresses send.

The addresses are known for an account with sending IPs, and for a service that delivers directly.
Behind a smarthost or Amazon SES, others send: a record that lets our own addresses send may still
lack theirs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from chalicelib.core import dns
from chalicelib.core.domain_names import is_within
from chalicelib.core.settings import settings
from chalicelib.sender_requirements.model import (
    DnsRecord,
    Requirement,
    met,
    undecided,
    unmet,
)
from chalicelib.sender_requirements.rules import SPF
from chalicelib.sending_domains import spf

_VERSION: Final = re.compile(r"v=spf1(?= |$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReturnPath:
    """The domain of the envelope sender, and the addresses that mail leaves from.

    ``mail_domain`` is the service's name whose SPF record customers include. ``is_complete`` tells
    whether no other server sends the mail on.
    """

    domain: str
    mail_domain: str
    addresses: Sequence[str]
    is_complete: bool


def check_spf(path: ReturnPath) -> Requirement:
    """Check the record of the return path's domain."""
    try:
        texts = [text for text in dns.texts(path.domain) if _VERSION.match(text)]
        if texts and not path.addresses:
            return undecided(SPF, f"{path.domain}: {texts[0]}", _OTHERS_SEND)
        result, reason = spf.evaluate(path.domain, path.addresses) if texts else ("none", "")
        if result not in (spf.PASS, spf.TEMPORARY):
            return _unmet(path, texts, result, reason)
    except dns.LookupFailed as error:
        return undecided(SPF, str(error))
    if result == spf.TEMPORARY:
        return undecided(SPF, f"the DNS gave no answer about the SPF record: {reason}")
    evidence = f"{path.domain}: {texts[0]}"
    return met(SPF, evidence) if path.is_complete else undecided(SPF, evidence, _OTHERS_SEND)


_OTHERS_SEND = (
    "mail leaves through a smarthost or Amazon SES: check that the record includes what its "
    "provider asks for"
)


def _unmet(path: ReturnPath, texts: Sequence[str], result: str, reason: str) -> Requirement:
    if not texts:
        evidence = f"{path.domain} has no SPF record"
    else:
        evidence = f"{path.domain}: {texts[0]} gives '{result}': {reason}"
    if len(texts) > 1:
        return unmet(SPF, evidence, f"leave one SPF record at {path.domain} and delete the others")
    name = list(dns.aliases(path.domain))[-1:] or [path.domain]
    record = DnsRecord("TXT", name[0], _value(texts[0] if texts else "", _terms(path, name[0])))
    text = "the operator publishes this record" if _is_ours(name[0]) else "publish this record"
    return unmet(SPF, evidence, text + " in place of any other SPF record of the name", record)


def _is_ours(name: str) -> bool:
    return is_within(name, settings().system_domain.lower())


def _terms(path: ReturnPath, name: str) -> str:
    """Return what the record must have: the service's record if that suffices, or addresses."""
    include = f"include:{path.mail_domain}"
    if _is_ours(name):
        return " ".join(map(_term, path.addresses)) or "a"
    result, _ = spf.evaluate(path.mail_domain, path.addresses)
    return " ".join(map(_term, path.addresses)) if result in ("fail", "softfail") else include


def _term(address: str) -> str:
    return f"ip{ip_address(address).version}:{address}"


def _value(text: str, terms: str) -> str:
    """Return a record with the terms, put before those that it has already."""
    before = _VERSION.sub("", text).strip()
    return f"v=spf1 {terms} {before or '-all'}"
