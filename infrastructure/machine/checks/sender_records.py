"""Check the DNS records by which mail hosts judge mail of the service's own domain.

They are SPF, DKIM and DMARC of ``SYSTEM_DOMAIN``, and the names of the addresses that mail leaves
from. Sending domains of customers have checks of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from chalicelib.core import dns
from chalicelib.core.settings import Settings
from chalicelib.sender_requirements import domain_checks
from chalicelib.sender_requirements.address_checks import SendingAddress, check_address
from chalicelib.sender_requirements.model import MET, UNDECIDED, Requirement
from chalicelib.sender_requirements.spf_check import ReturnPath, check_spf
from chalicelib.sending_domains import store as sending_domains
from chalicelib.sending_domains.dmarc_record import dmarc_record
from chalicelib.sending_domains.model import SendingDomain
from infrastructure.bootstrap import SELECTOR
from infrastructure.machine.checks.finding import NO_ANSWER, OK, PROBLEM, Finding
from infrastructure.machine.checks.installation import Installation
from infrastructure.machine.checks.own_addresses import public_addresses
from infrastructure.machine.settings import MX, SES, SMTP

_OTHERS = {
    SMTP: "include:<what the operator of the smarthost names>",
    SES: "include:amazonses.com",
}


def check_spf_record(installation: Installation) -> Finding:
    """Check that the envelope sender's domain lets the addresses send that mail leaves from."""
    service = installation.service
    domain, check = service.system_domain, f"SPF of {service.system_domain}"
    if service.transport == MX:
        path = ReturnPath(domain, domain, outgoing_addresses(service), is_complete=True)
        return _finding(check, check_spf(path))
    texts = [text for text in dns.texts(domain) if text.lower().split(" ")[0] == "v=spf1"]
    if len(texts) == 1:
        return Finding(check, OK, f"{texts[0]} (it must have what the provider asks for)")
    remedy = f"publish: TXT {domain} v=spf1 {_OTHERS[service.transport]} -all"
    if texts:
        return Finding(check, PROBLEM, f"there are {len(texts)} records", f"{remedy} alone")
    return Finding(check, PROBLEM, "there is none", remedy)


def check_dkim(installation: Installation, read: Callable[[str], SendingDomain | None]) -> Finding:
    """Check that the key of the service's own domain is published; it exists from a start on."""
    name = installation.service.system_domain
    check = f"DKIM of {name}"
    domain = read(name)
    if domain is None or domain.dkim is None:
        record = f"{SELECTOR}._domainkey.{name}"
        texts = dns.texts(record)
        detail = f"{record} is {texts[0]}" if texts else f"{record} is not there"
        remedy = (
            "start the service, which makes the key at its first start, and call "
            "`postfinch setup` again: it shows the record to publish"
        )
        return Finding(check, PROBLEM, f"no key can be read here; {detail}", remedy)
    return _finding(check, domain_checks.check_dkim(domain))


def check_dmarc(installation: Installation) -> Finding:
    """Check that a DMARC record states a policy for the service's own domain."""
    name = installation.service.system_domain
    domain = SendingDomain(domain=name, account_id=0, created=0.0)
    requirement = domain_checks.check_policy(domain, name, name)[0]
    finding = _finding(f"DMARC of {name}", requirement)
    if finding.status == OK and finding.remedy:
        return finding._replace(
            remedy=f"{finding.remedy} (recommended: {dmarc_record(name, name)})"
        )
    return finding


def check_address_names(installation: Installation) -> Iterator[Finding]:
    """Check PTR and EHLO of each address from which mail leaves to mail hosts."""
    service = installation.service
    if service.transport != MX:
        return
    addresses = outgoing_addresses(service)
    for address in addresses:
        sender = SendingAddress(address, service.mail_hostname)
        for requirement in check_address(sender):
            yield _finding(f"{address}: {requirement.rule.title}", requirement)
    if not addresses:
        remedy = f"publish the address of {service.system_domain} first"
        yield Finding("PTR and EHLO", PROBLEM, "no outgoing address is known", remedy)


def outgoing_addresses(service: Settings) -> list[str]:
    """Return the addresses that mail hosts see, as far as this machine and the DNS know them."""
    return public_addresses() or dns.addresses(service.system_domain)


def own_domain(name: str) -> SendingDomain | None:
    """Return the service's own domain as it is stored; the service must run."""
    return sending_domains.get(name)


def no_domain(name: str) -> SendingDomain | None:
    """Return nothing, as what is stored cannot be read."""


def _finding(check: str, requirement: Requirement) -> Finding:
    remedy = ""
    if requirement.remedy:
        record = requirement.remedy.record
        parts = (record.type, record.name, record.value) if record else ()
        remedy = ": ".join(filter(None, (requirement.remedy.text, " ".join(parts))))
    if requirement.state == UNDECIDED:
        remedy = NO_ANSWER
    return Finding(check, OK if requirement.state == MET else PROBLEM, requirement.evidence, remedy)
