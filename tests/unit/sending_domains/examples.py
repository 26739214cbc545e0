"""Sending domains for tests."""

from __future__ import annotations

from typing import Any

from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains.model import DomainStatus, SendingDomain

KEY = DkimKey("s1", "mail.example.test", "MIIBpublic", b"\x00sealed\xff", "from:to:subject")
VERIFIED = DomainStatus(ownership_verified=True, dkim_status="valid", cname_status="valid")


def domain(name: str = "mail.example.test", account: int = 1, **fields: Any) -> SendingDomain:
    """Return a verified domain with a key; ``fields`` replace its fields."""
    return SendingDomain(
        name, account, 1_769_850_000.5, **{"status": VERIFIED, "dkim": KEY} | fields
    )
