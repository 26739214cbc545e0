"""A transmission as it is kept: everything that generation needs besides the recipients.

It is written when it is accepted, with its content *resolved*: taken from the template and with the
options in force. Only a scheduled one is resolved later, when it starts (spec 3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from chalicelib.core import packing
from chalicelib.core.scope import PRIMARY, Scope

Json = dict[str, Any]

#: The states that a record can have (spec 3). ``ACCEPTING`` is never shown.
ACCEPTING = "accepting"
SUBMITTED = "submitted"
GENERATING = "Generating"
SUCCESS = "Success"
CANCELLED = "Canceled"


@dataclass(frozen=True, slots=True)
class Transmission:
    """One transmission.

    ``content`` is as it was given until it is ``resolved``, then inline content (spec 2.2), or
    nothing when ``raw`` is a pre-built message; ``substitute`` says whether that message is a
    template. ``options`` are as given until resolved, then those in force, for which ``defaults``
    are the account's choices at acceptance. ``start_ms`` is 0 unless it was scheduled.
    ``refusal`` holds the fields of the one event that every recipient gets instead of a message;
    ``uses`` names the stored template and list that are kept for it.
    """

    id: str
    account_id: int
    subaccount_id: int | None
    created_ms: int
    recv_method: str
    options: Json
    defaults: Json = field(default_factory=dict)
    resolved: bool = False
    content: Json = field(default_factory=dict)
    override: Json = field(default_factory=dict)
    raw: bytes = b""
    substitute: bool = False
    campaign_id: str = ""
    description: str = ""
    metadata: Json = field(default_factory=dict)
    substitution_data: Json = field(default_factory=dict)
    return_path: str = ""
    tracking_domain: str = ""
    template_id: str = ""
    template_version: str = ""
    ab_test: Json = field(default_factory=dict)
    start_ms: int = 0
    refusal: Json = field(default_factory=dict)
    uses: Json = field(default_factory=dict)

    @property
    def scope(self) -> Scope:
        """Return the part of the account that sends."""
        return Scope(self.account_id, self.subaccount_id or PRIMARY)

    def packed(self) -> bytes:
        """Return the whole transmission as bytes."""
        head = {name: getattr(self, name) for name in self.__slots__ if name != "raw"}
        return packing.pack(head, [self.raw])


def unpacked(data: bytes) -> Transmission:
    """Return the transmission that :meth:`Transmission.packed` was made of."""
    head, (raw,) = packing.unpack(data)
    return Transmission(**head, raw=raw)
