"""Define a mailbox provider as events and metrics name it (spec 2.11)."""

from __future__ import annotations

from typing import Final, NamedTuple

GLOBAL: Final = "Global"
EUROPE: Final = "Europe"
ASIA: Final = "Asia Pacific"
NORTH_AMERICA: Final = "North America"


class MailboxProvider(NamedTuple):
    """A provider and the region it serves."""

    provider: str
    region: str


OTHER: Final = MailboxProvider("Other", "Unknown")
