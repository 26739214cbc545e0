"""Read the addresses that mail may come back to, and find the message of each.

- ``b.<...>``, the envelope sender of a message: hosts report bounces and complaints there
- ``u.<...>``, in its List-Unsubscribe header: mail to it unsubscribes
- ``fbl``, to be registered with feedback loops that report to one address for all messages
- ``dmarc`` and ``tlsrpt``, to be named in DNS records, for reports about sending domains

The first two are signed. In mail to ``fbl`` only a signed address in the report is trusted, or
the local part of such an address, which a header of each message holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from chalicelib.core import config_cache
from chalicelib.core.domain_names import spelling
from chalicelib.core.settings import settings
from chalicelib.domain_reports.model import TLS_LOCAL_PART
from chalicelib.sending_domains import dmarc_record, return_path, store
from chalicelib.tracking import unsubscribe

FEEDBACK_LOCAL_PART = "fbl"
DOMAIN_REPORT_LOCAL_PARTS = (dmarc_record.LOCAL_PART, TLS_LOCAL_PART)

_SIGNED = re.compile(
    r"\b(?:b\.[0-9a-f]{24}\.[0-9a-f]{4}|u\.[0-9a-f]{24})\.[a-z2-7]{16}\b", re.IGNORECASE | re.ASCII
)


class Purpose(Enum):
    """The purpose of an address."""

    REPORT = "report"
    UNSUBSCRIPTION = "unsubscription"
    FEEDBACK = "feedback"
    DOMAIN_REPORT = "domain report"


@dataclass(frozen=True, slots=True)
class InboundTarget:
    """The purpose and message of an address; some stand for no message."""

    purpose: Purpose
    message_id: str = ""


def target_of(address: str) -> InboundTarget | None:
    """Return what an address stands for, whatever its domain.

    ``None`` if the service never issued the address, or if it has expired.
    """
    local_part = address.rpartition("@")[0]
    if local_part.lower() == FEEDBACK_LOCAL_PART:
        return InboundTarget(Purpose.FEEDBACK)
    if local_part.lower() in DOMAIN_REPORT_LOCAL_PARTS:
        return InboundTarget(Purpose.DOMAIN_REPORT)
    if message_id := return_path.message_of(local_part):
        return InboundTarget(Purpose.REPORT, message_id)
    if message_id := unsubscribe.message_of(local_part):
        return InboundTarget(Purpose.UNSUBSCRIPTION, message_id)
    return None


def message_named_in(texts: Iterable[str]) -> str | None:
    """Return the message that a signed address in these texts, or its local part, stands for."""
    for text in texts:
        for match in _SIGNED.finditer(text):
            target = target_of(f"{match[0]}@")
            if target:
                return target.message_id
    return None


def is_served(domain: str) -> bool:
    """Tell whether the service takes mail for ``domain``.

    It does for verified sending domains, which may take bounces (spec 2.5 rule 5) or have done so,
    and for its own names that their records lead to, because a host may send to the target of a
    CNAME.
    """
    if _is_own(spelling(domain)):
        return True
    item = config_cache.read_one(store.key_of(domain))
    return item is not None and store.from_item(item).status.ownership_verified


def _is_own(domain: str) -> bool:
    system = settings().system_domain.lower()
    before, _, after = settings().tenant_domain.format(account="\0", system=system).partition("\0")
    account = domain.removeprefix(before.lower()).removesuffix(after.lower())
    is_number = account.isascii() and account.isdigit()
    return domain == system or (is_number and domain == f"{before}{account}{after}".lower())
