"""Name the fields and headers of webhooks: neutral names, or the vendor's with ``VENDOR_ALIAS``."""

from __future__ import annotations

from typing import Final, NamedTuple

from chalicelib.core.settings import settings


class Names(NamedTuple):
    """The key of a payload's elements, two headers, and how the relations of links begin."""

    wrapper: str
    batch_id: str
    token: str
    relation: str


NEUTRAL: Final = Names("svc", "X-SVC-Batch-ID", "X-SVC-Webhook-Token", "urn.svc.webhooks")
VENDOR: Final = Names(
    "msys",
    "X-MessageSystems-Batch-ID",
    "X-MessageSystems-Webhook-Token",
    "urn.msys.webhooks",
)


def names() -> Names:
    """Return the names in force."""
    return VENDOR if settings().vendor_alias else NEUTRAL
