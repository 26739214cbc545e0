"""Check a sending domain by the rules of mail hosts: DKIM, DMARC, alignment and replies."""

from __future__ import annotations

from chalicelib.core import dns
from chalicelib.core.domain_names import have_one_owner
from chalicelib.dkim.dns_record import txt_record
from chalicelib.sender_requirements.dmarc import BadPolicy, DmarcRecord, find_record
from chalicelib.sender_requirements.model import (
    DnsRecord,
    Remedy,
    Requirement,
    met,
    undecided,
    unmet,
)
from chalicelib.sender_requirements.rules import (
    ALIGNMENT,
    DKIM,
    DKIM_KEY_LENGTH,
    DMARC,
    REPLIES,
)
from chalicelib.sending_domains.dmarc_record import dmarc_record, report_address
from chalicelib.sending_domains.dns_checks import check_dkim as check_record
from chalicelib.sending_domains.model import VALID, SendingDomain

_LEAST_BITS, _ADVISABLE_BITS = 1024, 2048
_NULL_MX = "."
_MOST_HOSTS = 3


def check_dkim(domain: SendingDomain) -> Requirement:
    """Check that the domain's key is published, and that the service signs with it."""
    key = domain.dkim
    if key is None:
        text = "import a key: PUT the domain with dkim.private, after publishing its public half"
        return unmet(DKIM, f"{domain.domain} has no DKIM key", text)
    outcome = check_record(key)
    if not outcome.answered:
        return undecided(DKIM, outcome.error)
    if outcome.error:
        record = DnsRecord("TXT", key.record_name, txt_record(key.public))
        return unmet(DKIM, outcome.error, "publish this record, then verify the domain", record)
    evidence = f"{key.record_name}: {outcome.record}"
    if domain.status.dkim_status != VALID:
        text = "verify the domain: POST its /verify with dkim_verify; until then nothing signs"
        return unmet(DKIM, evidence, text)
    return met(DKIM, evidence)


def check_key_length(domain: SendingDomain) -> Requirement:
    """Check the length of the domain's key."""
    from chalicelib.dkim.key_pair import read_public

    if domain.dkim is None:
        return unmet(DKIM_KEY_LENGTH, "there is no DKIM key", "add a key of 2048 bits")
    bits = read_public(domain.dkim.public).key_size
    evidence = f"the key of selector {domain.dkim.selector} has {bits} bits"
    advice = Remedy("use a key of 2048 bits, which Gmail recommends: add one under /dkim-keys")
    if bits < _LEAST_BITS:
        return unmet(DKIM_KEY_LENGTH, evidence, advice.text)
    return met(DKIM_KEY_LENGTH, evidence, advice if bits < _ADVISABLE_BITS else None)


def check_policy(domain: SendingDomain, return_path: str, mail_domain: str) -> list[Requirement]:
    """Check the DMARC record that applies to the domain, and alignment as that record wants it."""
    try:
        policy = find_record(domain.domain)
    except dns.LookupFailed as error:
        return [undecided(rule, str(error)) for rule in (DMARC, ALIGNMENT)]
    except BadPolicy as error:
        evidence = f"the DMARC record of {domain.domain} cannot be used: {error}"
        text = "publish a valid record in its place"
        dmarc = unmet(DMARC, evidence, text, _dmarc_record(domain.domain, return_path))
        return [dmarc, _alignment(domain, return_path, mail_domain, None)]
    dmarc = _check_dmarc(domain.domain, return_path, policy)
    return [dmarc, _alignment(domain, return_path, mail_domain, policy)]


def _check_dmarc(name: str, return_path: str, policy: DmarcRecord | None) -> Requirement:
    if policy is None:
        evidence = f"neither {name} nor a domain above it has a DMARC record"
        text = "publish this record; reports go to the address in it"
        return unmet(DMARC, evidence, text, _dmarc_record(name, return_path))
    advice = _dmarc_advice(policy, name, return_path)
    return met(DMARC, f"_dmarc.{policy.domain}: {policy.text}", advice)


def _dmarc_record(name: str, return_path: str) -> DnsRecord:
    return DnsRecord("TXT", f"_dmarc.{name}", dmarc_record(name, return_path))


def _dmarc_advice(policy: DmarcRecord, name: str, return_path: str) -> Remedy | None:
    """Return how to repair the policy for mail from ``name``, or how to go further than it."""
    place = f"_dmarc.{policy.domain}"
    if policy.problem:
        return Remedy(f"repair {place}, which mail hosts read as p=none: {policy.problem}")
    if "mailto:" not in policy.tags.get("rua", ""):
        address = report_address(name, return_path)
        return Remedy(f"add rua=mailto:{address} to {place} to receive reports about your mail")
    if policy.policy_for(name) == "none":
        return Remedy(
            f"when the reports show no mail of yours that fails, set p=quarantine at {place}, "
            "later p=reject"
        )
    return None


def _alignment(
    domain: SendingDomain, return_path: str, mail_domain: str, policy: DmarcRecord | None
) -> Requirement:
    """Check that the DKIM domain or the return path belongs to the owner of the From domain."""
    name = domain.domain
    strict_dkim, strict_spf = (
        policy is not None and policy.is_strict(tag) for tag in ("adkim", "aspf")
    )
    signing = domain.dkim.signing_domain if domain.dkim else ""
    by_dkim = bool(signing) and _aligned(name, signing, strict=strict_dkim)
    by_spf = _aligned(name, return_path, strict=strict_spf)
    evidence = (
        f"DKIM domain {signing or 'none'}: {_matches(by_dkim)}; "
        f"return path {return_path}: {_matches(by_spf)}"
    )
    if by_dkim:
        return met(ALIGNMENT, evidence, None if by_spf else _bounce_remedy(name, mail_domain))
    text = f"sign with a key whose signing_domain is {name}"
    return met(ALIGNMENT, evidence, Remedy(text)) if by_spf else unmet(ALIGNMENT, evidence, text)


def check_replies(name: str) -> Requirement:
    """Check that a reply to an address at ``name`` finds a mail host (RFC 5321 5.1, RFC 7505)."""
    record = DnsRecord("MX", name, "10 <your mail server>")
    text = "publish an MX record that leads to a server for your replies"
    try:
        hosts = dns.mail_hosts(name)
        if hosts == [_NULL_MX]:
            return unmet(REPLIES, f"{name} has an MX record that refuses all mail", text, record)
        reachable = [host for host in (hosts or [name])[:_MOST_HOSTS] if dns.addresses(host)]
    except dns.LookupFailed as error:
        return undecided(REPLIES, str(error))
    if reachable:
        return met(REPLIES, f"mail for {name} goes to {reachable[0]}")
    evidence = f"the MX host {hosts[0]} has no address" if hosts else f"{name} has no MX and no A"
    return unmet(REPLIES, evidence, text, record)


def _bounce_remedy(name: str, mail_domain: str) -> Remedy:
    bounces = f"bounces.{name}"
    text = (
        f"to match by SPF as well, create the sending domain {bounces}, publish this record, "
        "verify it (cname_verify) and make it the default bounce domain"
    )
    return Remedy(text, DnsRecord("CNAME", bounces, mail_domain))


def _aligned(name: str, other: str, *, strict: bool) -> bool:
    """Tell whether two domains are the same, or if not ``strict``, of one owner (RFC 7489 3.1)."""
    other = other.lower()
    return name == other if strict else have_one_owner(name, other)


def _matches(is_aligned: bool) -> str:
    return "matches" if is_aligned else "does not match"
