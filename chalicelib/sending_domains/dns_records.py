"""List the DNS records that a sending domain needs, with the stored result of their checks."""

from __future__ import annotations

from collections.abc import Iterator

from chalicelib.core.json_types import Json
from chalicelib.dkim.dns_record import txt_record
from chalicelib.sending_domains.dmarc_record import dmarc_record
from chalicelib.sending_domains.lookup import bounce_domain_for, is_enterprise, mail_domain
from chalicelib.sending_domains.model import SendingDomain

PURPOSES = ("dkim", "cname", "mx", "dmarc")


def dns_records(domain: SendingDomain) -> Iterator[Json]:
    """Yield each record: purpose, type, name, value, and whether sending needs it.

    ``cname`` and ``mx`` make the domain a bounce domain; one of them is enough. ``dmarc`` is not
    checked.
    """
    name, target = domain.domain, mail_domain(domain.account_id)
    return_path = bounce_domain_for(domain.account_id, domain.subaccount_id, sending=domain)
    if key := domain.dkim:
        yield _record("dkim", "TXT", key.record_name, txt_record(key.public), domain, needed=True)
    yield _record("cname", "CNAME", name, target, domain)
    if is_enterprise(domain.account_id):
        yield _record("mx", "MX", name, f"10 {target}", domain)
    yield {
        "purpose": "dmarc",
        "type": "TXT",
        "name": f"_dmarc.{name}",
        "value": dmarc_record(name, return_path),
        "required": False,
    }


def _record(
    purpose: str, rtype: str, name: str, value: str, domain: SendingDomain, *, needed: bool = False
) -> Json:
    return {
        "purpose": purpose,
        "type": rtype,
        "name": name,
        "value": value,
        "required": needed,
        "status": getattr(domain.status, f"{purpose}_status"),
    }
