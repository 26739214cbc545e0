"""Check the names of a sending address: PTR, its way back to the address, and EHLO."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from chalicelib.core import dns
from chalicelib.sender_requirements.model import (
    DnsRecord,
    Requirement,
    met,
    undecided,
    unmet,
)
from chalicelib.sender_requirements.rules import ADDRESS_RULES, EHLO, FORWARD_CONFIRMED, PTR


@dataclass(frozen=True, slots=True)
class SendingAddress:
    """An address that remote hosts see, and the name that its EHLO has.

    ``greets`` is false when another server (a smarthost, Amazon SES) sends the EHLO.
    """

    address: str
    hostname: str
    greets: bool = True


def check_address(sender: SendingAddress) -> list[Requirement]:
    """Check one address by the rules for addresses, in their order."""
    try:
        names = dns.host_names(sender.address)
        confirmed = [name for name in names if _leads_to(name, sender.address)]
        return [
            _check_ptr(sender, names),
            _check_way_back(sender, names, confirmed),
            _check_ehlo(sender, names),
        ]
    except dns.LookupFailed as error:
        return [undecided(rule, str(error)) for rule in ADDRESS_RULES]


def _check_ptr(sender: SendingAddress, names: Sequence[str]) -> Requirement:
    if names:
        return met(PTR, f"PTR of {sender.address}: {', '.join(names)}")
    return unmet(PTR, f"{sender.address} has no PTR record", _PTR_TEXT, _ptr_record(sender))


def _check_way_back(
    sender: SendingAddress, names: Sequence[str], confirmed: Sequence[str]
) -> Requirement:
    if confirmed:
        return met(FORWARD_CONFIRMED, f"{confirmed[0]} leads to {sender.address}")
    if not names:
        evidence = f"{sender.address} has no PTR record"
        return unmet(FORWARD_CONFIRMED, evidence, _PTR_TEXT, _ptr_record(sender))
    evidence = f"{names[0]} does not lead to {sender.address}"
    text = "publish the address at the name in the PTR record, or change the PTR record"
    return unmet(FORWARD_CONFIRMED, evidence, text, _address_record(names[0], sender.address))


def _check_ehlo(sender: SendingAddress, names: Sequence[str]) -> Requirement:
    name = sender.hostname.lower()
    if not sender.greets:
        return undecided(EHLO, "mail leaves through another server, which sends its own EHLO")
    if not _leads_to(name, sender.address):
        evidence = f"{name} does not lead to {sender.address}"
        record = _address_record(name, sender.address)
        return unmet(EHLO, evidence, "publish the address at the name in EHLO", record)
    if name not in names:
        evidence = f"EHLO says {name}, PTR says {', '.join(names) or 'nothing'}"
        return unmet(EHLO, evidence, _PTR_TEXT, _ptr_record(sender))
    return met(EHLO, f"EHLO and PTR say {name}, which leads to {sender.address}")


_PTR_TEXT = "ask the owner of the address (your hosting provider) to set its PTR record"


def _leads_to(name: str, address: str) -> bool:
    # Two spellings of an IPv6 address are the same address
    return ip_address(address) in map(ip_address, dns.addresses(name))


def _ptr_record(sender: SendingAddress) -> DnsRecord:
    return DnsRecord("PTR", ip_address(sender.address).reverse_pointer, sender.hostname)


def _address_record(name: str, address: str) -> DnsRecord:
    return DnsRecord("AAAA" if ip_address(address).version == 6 else "A", name, address)
