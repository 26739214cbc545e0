"""Know the DNS records that the service's own ``.test`` domains should publish.

- a sending domain: its DKIM TXT records, its CNAME to the service's mail domain, its MX, and a
  DMARC policy
- a tracking domain: its CNAME to the service
- an inbound domain: its MX
- the service's own names: this machine, and an SPF record

A domain that begins with ``broken-`` gets wrong records, so that failing verification can be tried.
"""

from __future__ import annotations

from collections.abc import Iterator

from chalicelib.accounts.store import accounts
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.dkim.dns_record import txt_record
from chalicelib.dkim.model import DkimKey
from chalicelib.inbound_domains import store as inbound_domains
from chalicelib.inbound_domains.model import InboundDomain
from chalicelib.sending_domains import store
from chalicelib.sending_domains.dmarc_record import dmarc_record
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.lookup import bounce_domain_for, mail_domain
from chalicelib.sending_domains.model import SendingDomain
from chalicelib.tracking_domains import store as tracking_domains
from chalicelib.tracking_domains.model import cname_target
from infrastructure.local.dns.resolver import Records

BROKEN = "broken-"
WRONG_HOST = "wrong.invalid"
_WRONG_KEY = "v=DKIM1; k=rsa; h=sha256; p=wrong"
_ZONE = ".test"
_DKIM = "._domainkey."
_DMARC = "_dmarc."


class ServiceRecords:
    """The records that the service's own domains should publish."""

    def lookup(self, name: str) -> Records | None:
        """Return the records at ``name``, ``None`` if the name does not exist."""
        name = name.rstrip(".").lower()
        if not name.endswith(_ZONE):
            return None
        _, separator, signing_domain = name.partition(_DKIM)
        if separator:
            return _dkim_records(signing_domain, name)
        if name.startswith(_DMARC):
            return _dmarc_records(store.get(name.removeprefix(_DMARC)))
        if name in _own_hosts():
            return _host_records(name)
        if domain := store.get(name):
            return _mail_records(domain)
        if tracking_domains.get(name):
            return _tracking_records(name)
        if inbound_domain := inbound_domains.get(name):
            return _inbound_records(inbound_domain)
        return None

    def all(self) -> dict[str, Records]:
        """Return the records of every name that exists."""
        records = {name: _host_records(name) for name in _own_hosts()}
        for account in accounts.all_accounts():
            scope = Scope(account.customer_id, None)
            # A domain comes before those below it, as its own key does in a lookup.
            for domain in sorted(store.in_scope(scope), key=lambda each: len(each.domain)):
                records.setdefault(domain.domain, _mail_records(domain))
                if policy := _dmarc_records(domain):
                    records.setdefault(f"{_DMARC}{domain.domain}", policy)
                for key in _keys_of(domain):
                    records.setdefault(key.record_name.lower(), _key_records(key))
            for tracking_domain in tracking_domains.in_scope(scope):
                name = tracking_domain.domain
                records.setdefault(name, _tracking_records(name))
            for inbound_domain in inbound_domains.in_scope(scope):
                records.setdefault(inbound_domain.domain, _inbound_records(inbound_domain))
        return {name: records[name] for name in records if name.endswith(_ZONE)}


def _own_hosts() -> set[str]:
    return {settings().system_domain.lower(), cname_target()}


def _host_records(name: str) -> Records:
    # All mail ends on this machine, so it may come from any sending IP
    return [("A", "127.0.0.1"), ("MX", f"10 {name}"), ("TXT", "v=spf1 +all")]


def _dkim_records(signing_domain: str, name: str) -> Records | None:
    for key in _keys_under(signing_domain):
        if key.record_name.lower() == name:
            return _key_records(key)
    return None


def _key_records(key: DkimKey) -> Records:
    return [
        ("TXT", _WRONG_KEY if _is_broken(key.signing_domain.lower()) else txt_record(key.public))
    ]


def _keys_under(signing_domain: str) -> Iterator[DkimKey]:
    """Yield the keys that may be published at a domain: its own first, then those below it."""
    own = store.get(signing_domain)
    domains = [own] if own else []
    domains += [each for each in store.within(signing_domain) if each.domain != signing_domain]
    for domain in domains:
        yield from _keys_of(domain)


def _keys_of(domain: SendingDomain) -> Iterator[DkimKey]:
    if domain.dkim:
        yield domain.dkim
    yield from (further.key for further in further_keys.of_domain(domain.domain))


def _mail_records(domain: SendingDomain) -> Records:
    host = _host_for(domain.domain, mail_domain(domain.account_id))
    return [("CNAME", host), ("MX", f"10 {host}")]


def _dmarc_records(domain: SendingDomain | None) -> Records | None:
    if domain is None or _is_broken(domain.domain):
        return None
    owner = domain.account_id, domain.subaccount_id
    return [("TXT", dmarc_record(domain.domain, bounce_domain_for(*owner, sending=domain)))]


def _tracking_records(name: str) -> Records:
    return [("CNAME", _host_for(name, cname_target()))]


def _inbound_records(domain: InboundDomain) -> Records:
    return [("MX", f"10 {_host_for(domain.domain, mail_domain(domain.account_id))}")]


def _host_for(name: str, host: str) -> str:
    return WRONG_HOST if _is_broken(name) else host


def _is_broken(name: str) -> bool:
    return name.startswith(BROKEN)
