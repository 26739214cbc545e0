"""Read the query of a list of received messages, and make the cursor of its next page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from chalicelib.core import clock, cursors, domain_names
from chalicelib.core.addresses import spelling
from chalicelib.core.cursors import FIRST
from chalicelib.core.errors import invalid_params
from chalicelib.core.fields import integer
from chalicelib.core.query import Query, position, time_ms
from chalicelib.core.scope import Scope
from chalicelib.received_mail.model import MessageSummary
from chalicelib.received_mail.store import position_after, position_at

DEFAULT_PER_PAGE: Final = 100
MOST_PER_PAGE: Final = 1000
#: Those of ``inbound_domains.model``; of dropped messages none is kept
ACTIONS: Final = ("webhook", "forward", "store")

_PURPOSE: Final = "inbound messages"
_LAST_MS: Final = 253_402_300_799_999
"""The end of the year 9999."""


@dataclass(frozen=True, slots=True)
class MessageFilters:
    """The filters of a list; empty ones are none. Addresses and domain are in their one spelling.

    ``sender`` is the envelope sender or the address in From. Each of ``words`` is in the subject.
    """

    domain: str = ""
    recipient: str = ""
    sender: str = ""
    words: tuple[str, ...] = ()
    action: str = ""

    def match(self, message: MessageSummary) -> bool:
        """Tell whether a message passes the filters."""
        subject = message.subject.casefold()
        return (
            self.domain in ("", message.domain)
            and self.action in ("", message.action)
            and self.recipient in ("", spelling(message.rcpt_to))
            and (not self.sender or self.sender in map(spelling, _senders(message)))
            and all(word in subject for word in self.words)
        )


@dataclass(frozen=True, slots=True)
class MessageSearch:
    """One page of a list: the messages from the position ``high`` back to ``low``.

    ``binding`` (JSON) names the scope and the filters, to which cursors are bound.
    """

    filters: MessageFilters
    low: str
    high: str
    per_page: int
    binding: list[object]


def read_search(query: Query, scope: Scope) -> MessageSearch:
    """Read the filters and the page; raises 400. ``from`` and ``to`` are both included."""
    filters = MessageFilters(
        domain_names.spelling(query.get("domain", "")),
        spelling(query.get("recipient", "")),
        spelling(query.get("sender", "")),
        tuple(query.get("subject", "").casefold().split()),
        query.get("action", ""),
    )
    if filters.action not in ("", *ACTIONS):
        raise invalid_params(f"action must be one of {', '.join(ACTIONS)}", param="action")
    per_page = integer(query, "per_page", DEFAULT_PER_PAGE, 1, MOST_PER_PAGE)
    names = ("domain", "recipient", "sender", "subject", "action", "from", "to")
    binding: list[object] = [scope.account_id, scope.part, *(query.get(name, "") for name in names)]
    cursor = query.get("cursor", FIRST)
    low, high = _span(query) if cursor == FIRST else position(cursor, _PURPOSE, binding)
    return MessageSearch(filters, low, high, per_page, binding)


def next_cursor(search: MessageSearch, high: str) -> str:
    """Return the cursor of the page that begins at ``high``; empty if that is empty."""
    return cursors.encode([search.low, high], _PURPOSE, search.binding) if high else ""


def _senders(message: MessageSummary) -> tuple[str, str]:
    return message.mail_from, message.friendly_from


def _span(query: Query) -> tuple[str, str]:
    to_ms = time_ms(query, "to", clock.now_ms())
    from_ms = time_ms(query, "from", 0)
    if from_ms > to_ms:
        raise invalid_params("from must be before to", param="from")
    return position_at(min(from_ms, _LAST_MS)), position_after(min(max(to_ms, 0), _LAST_MS))
