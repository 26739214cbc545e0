"""Define a transmission: everything that generation needs except the recipients.

It is written when it is accepted, with its content *resolved*: taken from the template and with the
options in force. Only a scheduled transmission is resolved later, when it starts (spec 3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.core import packing
from chalicelib.core.json_types import Json
from chalicelib.core.message_event import Refusal
from chalicelib.core.scope import PRIMARY, SYSTEM_ACCOUNT, Scope
from chalicelib.core.typed_dicts import TypedDict
from chalicelib.recipient_lists.stored_form import StoredRecipient

#: The longest time from now to the start of a scheduled transmission (spec 8)
LONGEST_AHEAD_MS: Final = 3 * 86_400_000

#: The greatest ``limit`` of a list
MOST_LISTED: Final = 10_000

#: The states that a record can have (spec 3). ``ACCEPTING`` is never shown.
ACCEPTING = "accepting"
SUBMITTED = "submitted"
GENERATING = "Generating"
SUCCESS = "Success"
CANCELLED = "Canceled"


#: names of fields → those under which they are stored
_FORMER_NAMES = {"leases": "uses", "counts_at_acceptance": "is_counted"}


class AbTestRef(TypedDict, total=False):
    """The version of an A/B test in which content was tried; empty if it was in none."""

    id: str
    version: int


class Leases(TypedDict, total=False):
    """The stored template and the list on which a transmission has leases, if it has.

    ``template`` holds two values: the subaccount, ``None`` for the primary account, and the id.
    """

    template: list[Any]
    list: str


@dataclass(frozen=True, slots=True)
class Transmission:
    """One transmission.

    ``content`` is as the client sent it until it is ``resolved``, then inline content (spec 2.2),
    or empty when ``raw`` is a pre-built message; ``substitute`` says whether that message is a
    template. ``options`` are the client's until resolved, then those in force; ``defaults`` are the
    account's choices at acceptance. ``start_ms`` is 0 unless the transmission was scheduled.
    ``requested`` keeps what resolving replaces, as the client sent it: ``options``, and the
    ``content`` that names a template or an A/B test. Version 0.1.0 did not store it
    (goes with 0.3.0).
    ``shares_template``: a subaccount sends a template that the primary account shares.
    ``refusal`` holds the fields of the one event that every recipient gets instead of a message;
    ``leases`` names the stored template and list on which the transmission has leases.
    ``counts_at_acceptance``: its recipients counted in the account's usage when it was accepted, as
    in version 0.1.0 always (goes with 0.3.0); otherwise the first event of each recipient counts.
    """

    id: str
    account_id: int
    subaccount_id: int | None
    created_ms: int
    recv_method: str
    options: Json
    requested: Json = field(default_factory=dict)
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
    shares_template: bool = False
    ab_test: AbTestRef = field(default_factory=AbTestRef)
    start_ms: int = 0
    refusal: Refusal = field(default_factory=Refusal)
    leases: Leases = field(default_factory=Leases)
    counts_at_acceptance: bool = True

    @property
    def scope(self) -> Scope:
        """Return the part of the account that sends."""
        return Scope(self.account_id, self.subaccount_id or PRIMARY)

    @property
    def requested_content(self) -> Json:
        """Return the names of stored content that the client sent, with any other content."""
        content: Json = self.requested.get("content", self.content)
        return content

    @property
    def requested_options(self) -> Json:
        """Return the options that the client sent."""
        options: Json = self.requested.get("options", self.options)
        return options

    @property
    def starts_ms(self) -> int:
        """Return when the transmission starts: at its time, or when it was created."""
        return self.start_ms or self.created_ms

    @property
    def is_sandbox(self) -> bool:
        """Tell whether this is a sandbox send: the sample template from the service's own domain.

        It needs no sending domain and counts against the account's sandbox, not its plan (spec 8).
        """
        return bool(self.options.get("sandbox"))

    @property
    def domain_owner(self) -> tuple[int, int | None]:
        """Return the account and subaccount whose sending domain the transmission uses."""
        if self.is_sandbox:
            return SYSTEM_ACCOUNT, None
        return self.account_id, self.subaccount_id

    @property
    def is_of_enterprise(self) -> bool:
        """Tell whether the account was an enterprise one when the transmission was accepted."""
        return bool(self.defaults.get("enterprise"))

    def return_path_for(self, recipient: StoredRecipient) -> str:
        """Return the requested envelope sender; only enterprise accounts have one a recipient."""
        own = recipient.get("return_path", "") if self.is_of_enterprise else ""
        return own or self.return_path

    def pack(self) -> bytes:
        """Return the whole transmission as bytes."""
        return b"".join(self.pieces())

    def pieces(self) -> list[bytes]:
        """Return the same in pieces: a pre-built message may be large, and is not copied."""
        head = {name: getattr(self, name) for name in self.__slots__ if name != "raw"}
        for name, former in _FORMER_NAMES.items():
            head[former] = head.pop(name)
        return packing.pieces(head, [[self.raw]])


def visible_state(state: str, chunks: int, generated_chunks: int) -> str:
    """Return the state to show: that of the record, as far as no chunk says more."""
    if state == CANCELLED:
        return CANCELLED
    if generated_chunks >= chunks:
        return SUCCESS
    return GENERATING if generated_chunks or state == GENERATING else SUBMITTED


def unpack(data: bytes) -> Transmission:
    """Return the transmission that :meth:`Transmission.pack` returned as bytes."""
    head, (raw,) = packing.unpack(data)
    for name, former in _FORMER_NAMES.items():
        if former in head:
            head[name] = head.pop(former)
    return Transmission(**head, raw=raw)
