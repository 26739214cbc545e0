"""Check the DNS records that lead to this machine: addresses, MX, and the name of tracked links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ipaddress import ip_address

from chalicelib.core import dns
from chalicelib.tracking_domains.model import cname_target
from infrastructure.machine.checks.finding import OK, PROBLEM, WARNING, Finding
from infrastructure.machine.checks.installation import Installation
from infrastructure.machine.checks.own_addresses import is_own, public_addresses
from infrastructure.machine.configuration import service_names

_UNKNOWN = "<the public address of this machine>"


def check_addresses(installation: Installation) -> Iterator[Finding]:
    """Check that each name of the service leads to this machine, and to no other."""
    names = [installation.service.system_domain, *service_names(installation.service)]
    for name in dict.fromkeys(names):
        yield _check_address(name, is_proxied=bool(installation.machine.trusted_proxies))


def check_mx(installation: Installation) -> Finding:
    """Check that mail for the service's domain, such as bounces, comes to this machine."""
    domain = installation.service.system_domain
    check = f"MX of {domain}"
    remedy = f"publish: MX {domain} 10 {installation.service.mail_hostname}"
    hosts = dns.mail_hosts(domain)
    if not hosts:
        return Finding(check, PROBLEM, "there is none", remedy)
    text = ", ".join(hosts)
    if installation.service.mail_hostname in hosts:
        return Finding(check, OK, text)
    if set(dns.addresses(hosts[0])) & set(dns.addresses(domain)):
        return Finding(check, OK, f"{text}, which is this machine")
    return Finding(check, PROBLEM, f"{text} gets the bounces", f"{remedy} in place of it")


def check_track(installation: Installation) -> Finding:
    """Check the name that customers' tracking domains point to."""
    service = installation.service
    name = cname_target()
    check = f"Address of {name}"
    remedy = f"publish: CNAME {name} {service.system_domain}"
    addresses = dns.addresses(name)
    if not addresses:
        return Finding(check, PROBLEM, "there is none", remedy)
    if set(addresses) & set(dns.addresses(service.system_domain)):
        return Finding(check, OK, ", ".join(addresses))
    text = f"{', '.join(addresses)}, which is not {service.system_domain}"
    return Finding(check, PROBLEM, text, f"{remedy} in place of it")


def _check_address(name: str, *, is_proxied: bool) -> Finding:
    check = f"Address of {name}"
    addresses, own = dns.addresses(name), public_addresses()
    if not addresses:
        return Finding(check, PROBLEM, "there is none", f"publish: {_records(name, own)}")
    text = ", ".join(addresses)
    foreign = [address for address in addresses if not is_own(address)]
    if not foreign:
        return Finding(check, OK, text)
    text = f"{text}: no interface of this machine has {', '.join(foreign)}"
    if not own or is_proxied:
        remedy = "right if your provider or your proxy passes its connections on to this machine"
        return Finding(check, WARNING, text, remedy)
    return Finding(check, PROBLEM, text, f"publish in their place: {_records(name, own)}")


def _records(name: str, addresses: Sequence[str]) -> str:
    records = [
        f"{'AAAA' if ip_address(address).version == 6 else 'A'} {name} {address}"
        for address in addresses
    ]
    return " and ".join(records or [f"A {name} {_UNKNOWN}"])
