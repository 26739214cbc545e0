"""Define a suppression entry, its vocabulary, and the messages that it holds back (spec 2.9).

An entry is account-wide, or holds for one mailing list (``list_id``, RFC 2919, whose case does not
matter). Its source says who created it; a later update does not change the source.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from chalicelib.core import clock
from chalicelib.core.addresses import domain_of, is_address, spelling

TRANSACTIONAL: Final = "transactional"
NON_TRANSACTIONAL: Final = "non_transactional"
OPEN_TRACKING: Final = "open_tracking"
#: the types that keep messages from being sent
BLOCKING: Final = (TRANSACTIONAL, NON_TRANSACTIONAL)
TYPES: Final = (*BLOCKING, OPEN_TRACKING)

MANUALLY_ADDED: Final = "Manually Added"
COMPLIANCE: Final = "Compliance"
TRACKING_CONSENT_REVOKED: Final = "Tracking Consent Revoked"
#: source → its name in the summary
SOURCES: Final = {
    COMPLIANCE: "compliance",
    MANUALLY_ADDED: "manually_added",
    "Unsubscribe Link": "unsubscribe_link",
    "Bounce Rule": "bounce_rule",
    "List Unsubscribe": "list_unsubscribe",
    "Spam Complaint": "spam_complaint",
    TRACKING_CONSENT_REVOKED: "tracking_consent_revoked",
}

MOST_ENTRIES: Final = 1_000_000
LONGEST_LIST_ID: Final = 255
LONGEST_DESCRIPTION: Final = 6000  # bytes; a hundred fit a transaction in any encoding

_MOST_SHOWN = 5
_LIST_ID = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")


class SuppressionKind(NamedTuple):
    """The type of an entry, and whether it is for one mailing list.

    Entries of different kinds are counted and indexed apart.
    """

    type: str
    specific: bool

    def __str__(self) -> str:
        return f"{self.type}_list" if self.specific else self.type


KINDS: Final = (
    *(SuppressionKind(blocking, specific) for blocking in BLOCKING for specific in (False, True)),
    SuppressionKind(OPEN_TRACKING, False),
)

#: the number of entries of each kind and source
Tally = Counter[tuple[SuppressionKind, str]]


@dataclass(frozen=True, slots=True)
class SuppressionEntry:
    """One entry. Times are milliseconds; ``list_id`` is empty for an account-wide entry.

    ``recipient`` is in the one spelling of addresses (``core.addresses``).
    In an update, a ``description`` of ``None`` keeps the present one.
    """

    recipient: str
    type: str
    source: str
    created_ms: int
    updated_ms: int
    description: str | None = None
    list_id: str = ""
    subaccount_id: int | None = None

    @property
    def kind(self) -> SuppressionKind:
        """Return the kind of the entry."""
        return SuppressionKind(self.type, bool(self.list_id))

    @property
    def domain(self) -> str:
        """Return the recipient's domain, in A-labels."""
        return domain_of(self.recipient)


class Recipient(NamedTuple):
    """A recipient of one sender; ``subaccount_id`` is ``None`` for the primary account."""

    account_id: int
    subaccount_id: int | None
    address: str


class SuppressionHold(NamedTuple):
    """The messages of one type to one recipient that a list holds back.

    ``source`` is that of the account-wide entry, empty if there is none; ``lists`` are the mailing
    lists, in lower case, that have an entry of their own.
    """

    source: str
    lists: frozenset[str]

    def holds_back(self, list_id: str) -> bool:
        """Tell whether a message of this mailing list (empty: of none) is held back."""
        return bool(self.source) or list_id.lower() in self.lists


def shown_fields(entries: Collection[SuppressionEntry]) -> dict[str, Any]:
    """Return what the audit log shows of entries: each one of a recipient, or how many there are.

    Of entries of several recipients it has the number and the first few addresses.
    """
    recipients = list(dict.fromkeys(entry.recipient for entry in entries))
    if len(recipients) > 1:
        return {"recipients": len(recipients), "first": recipients[:_MOST_SHOWN]}
    return {
        " ".join(filter(None, (entry.type, entry.list_id))): {
            "source": entry.source,
            "description": entry.description,
        }
        for entry in entries
    }


def new_entry(
    recipient: str,
    type: str,
    source: str,
    *,
    description: str | None = None,
    list_id: str | None = None,
) -> SuppressionEntry:
    """Return an entry created now, of the primary account's list.

    Raises ``ValueError``, with a text for the caller of the API, if a field is not valid.
    """
    if not is_address(recipient):
        raise ValueError("Recipient must be a valid email address")
    return entry_about(recipient, type, source, description=description, list_id=list_id)


def entry_about(
    recipient: str,
    type: str,
    source: str,
    *,
    description: str | None = None,
    list_id: str | None = None,
) -> SuppressionEntry:
    """Return an entry as :func:`new_entry` does, without checking the address again.

    Some characters take more bytes in lower case, so an address that was accepted may look too long
    here.
    """
    check_type(type)
    if source not in SOURCES:
        raise ValueError(f"Source must be one of: {_quoted(SOURCES)}")
    if list_id is not None and not is_list_id(list_id):
        raise ValueError("list_id must be a valid list identifier")
    if list_id is not None and type == OPEN_TRACKING:
        raise ValueError(f"list_id is not allowed for type '{OPEN_TRACKING}'")
    if description and len(description.encode()) > LONGEST_DESCRIPTION:
        raise ValueError(f"description can have at most {LONGEST_DESCRIPTION} bytes")
    now = clock.now_ms()
    return SuppressionEntry(
        recipient=spelling(recipient),
        type=type,
        source=source,
        created_ms=now,
        updated_ms=now,
        description=description,
        list_id=list_id or "",
    )


def check_type(text: Any) -> None:
    """Raise ``ValueError`` unless ``text`` is a type."""
    if text not in TYPES:
        raise ValueError(f"Type must be one of: {_quoted(TYPES)}")


def is_list_id(text: str) -> bool:
    """Tell whether ``text`` may name a mailing list (spec 2.9, after RFC 2919)."""
    return len(text) <= LONGEST_LIST_ID and _LIST_ID.fullmatch(text) is not None


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
