"""Read what this service knows about recipients: suppression entries and recent deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from chalicelib.core import clock
from chalicelib.core.dynamo import READ_BATCH
from chalicelib.core.scope import Scope
from chalicelib.events import service as events
from chalicelib.recipient_validation.model import History
from chalicelib.suppression.store import lookup_items

RECENT_DAYS: Final = 90
_RECENT_MS: Final = RECENT_DAYS * 86_400_000
_BATCH: Final = READ_BATCH // 2  # each has two lookup items


def of_address(scope: Scope, address: str) -> History:
    """Return the history of one address, in about two requests.

    The suppression list is that of the scope's owner: of the primary account, where the scope has
    the subaccounts as well. Deliveries are those of the whole scope.
    """
    is_suppressed = bool(suppressed(scope, [address]))
    return History(is_suppressed, not is_suppressed and was_delivered(scope, address))


def suppressed(scope: Scope, addresses: Sequence[str]) -> set[str]:
    """Return the addresses that get no mail of one or both kinds; a request for fifty of them.

    Entries for one mailing list do not count: other mail arrives.
    """
    batches = (addresses[start : start + _BATCH] for start in range(0, len(addresses), _BATCH))
    return set[str]().union(*(_suppressed(scope, batch) for batch in batches))


def was_delivered(scope: Scope, address: str) -> bool:
    """Tell whether a host took a message to an address within the last 90 days."""
    return events.was_delivered(scope, address, clock.now_ms() - _RECENT_MS)


def _suppressed(scope: Scope, addresses: Sequence[str]) -> set[str]:
    owner = (scope.account_id, scope.owner)
    keys = [
        key
        for transactional in (True, False)
        for key in lookup_items.blocking_keys(*owner, addresses, transactional=transactional)
    ]
    items = lookup_items.read_eventually(keys)
    holds = [
        lookup_items.blocking(*owner, addresses, transactional=transactional, read=lambda _: items)
        for transactional in (True, False)
    ]
    return {address for each in holds for address, hold in each.items() if hold.source}
