"""A transmission as it is kept: everything that generation needs besides the recipients.

It is written once, when it is accepted, and read by every worker that generates a chunk of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from chalicelib.core import packing

Json = dict[str, Any]

ACCEPTING = "accepting"
SUBMITTED = "submitted"


@dataclass(frozen=True, slots=True)
class Transmission:
    """One transmission.

    ``content`` holds the inline content of spec 2.2, or nothing when ``raw`` is a finished message
    (taken over SMTP). ``options`` are those in force, defaults filled in. ``created_ms`` is the
    time of acceptance.
    """

    id: str
    account_id: int
    subaccount_id: int | None
    created_ms: int
    recv_method: str
    options: Json
    content: Json = field(default_factory=dict)
    raw: bytes = b""
    campaign_id: str = ""
    description: str = ""
    metadata: Json = field(default_factory=dict)
    substitution_data: Json = field(default_factory=dict)
    return_path: str = ""

    def packed(self) -> bytes:
        """Return the whole transmission as bytes."""
        head = {name: getattr(self, name) for name in self.__slots__ if name != "raw"}
        return packing.pack(head, [self.raw])


def unpacked(data: bytes) -> Transmission:
    """Return the transmission that :meth:`Transmission.packed` was made of."""
    head, (raw,) = packing.unpack(data)
    return Transmission(**head, raw=raw)
