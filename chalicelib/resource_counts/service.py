"""Count the resources of a scope, at most a thousand of a kind.

A list costs as much to count as to read, so counting stops where nobody needs the exact number.
Kinds with counters of their own are counted to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from itertools import islice
from typing import Final, NamedTuple

from chalicelib.ab_tests.store import versions as ab_tests
from chalicelib.api_keys import store as api_keys
from chalicelib.core.scope import Scope
from chalicelib.inbound_domains import store as inbound_domains
from chalicelib.recipient_lists.store import lists as recipient_lists
from chalicelib.relay_webhooks import store as relay_webhooks
from chalicelib.sending_domains import store as sending_domains
from chalicelib.snippets import store as snippets
from chalicelib.subaccounts import store as subaccounts
from chalicelib.suppression.store import counts as suppression
from chalicelib.suppression.store.items import parts_in
from chalicelib.templates.store import records as templates
from chalicelib.tracking_domains import store as tracking_domains
from chalicelib.webhooks.store import webhooks

MOST: Final = 1000


class Count(NamedTuple):
    """A number of resources; ``more``: there are more than that."""

    number: int
    more: bool


class ResourceKind(NamedTuple):
    """A kind of resource: the grant of its list, and what counts it in a scope."""

    grant: str
    counter: Callable[[Scope], Count]


def counts(scope: Scope, grants: Collection[str]) -> dict[str, Count]:
    """Return the counts of the kinds that a caller with ``grants`` may list in ``scope``."""
    return {
        name: kind.counter(scope)
        for name, kind in KINDS.items()
        if kind.grant in grants and not (scope.owner and name in _OF_ACCOUNTS)
    }


def _listed_by(resources: Callable[[Scope], Iterable[object]]) -> Callable[[Scope], Count]:
    """Return a function that counts what ``resources`` yields in a scope."""

    def count(scope: Scope) -> Count:
        number = sum(1 for _ in islice(resources(scope), MOST + 1))
        return Count(min(number, MOST), number > MOST)

    return count


def _suppressed(scope: Scope) -> Count:
    tallies = suppression.read(scope.account_id, parts_in(scope))
    return Count(sum(tally.total() for tally in tallies.values()), False)


KINDS: Final[dict[str, ResourceKind]] = {
    "templates": ResourceKind(
        "templates/view", _listed_by(lambda scope: templates.in_scope(scope, None))
    ),
    "snippets": ResourceKind(
        "templates/view", _listed_by(lambda scope: snippets.in_scope(scope, None))
    ),
    "ab_tests": ResourceKind("ab-testing/manage", _listed_by(ab_tests.in_scope)),
    "recipient_lists": ResourceKind(
        "recipient_lists/manage",
        _listed_by(lambda scope: recipient_lists.in_account(scope.account_id)),
    ),
    "sending_domains": ResourceKind(
        "sending_domains/view", _listed_by(sending_domains.readable_in)
    ),
    "tracking_domains": ResourceKind(
        "tracking_domains/view", _listed_by(tracking_domains.in_scope)
    ),
    "inbound_domains": ResourceKind("inbound_domains/manage", _listed_by(inbound_domains.in_scope)),
    "webhooks": ResourceKind("webhooks/view", _listed_by(webhooks.in_scope)),
    "relay_webhooks": ResourceKind("relay_webhooks/view", _listed_by(relay_webhooks.in_scope)),
    "suppressions": ResourceKind("suppression_lists/manage", _suppressed),
    "subaccounts": ResourceKind(
        "subaccount/view", lambda scope: Count(subaccounts.count(scope.account_id), False)
    ),
    "api_keys": ResourceKind("api_keys/manage", _listed_by(api_keys.in_scope)),
}
"""What is counted, by its name in the answer."""

#: Kinds of which a subaccount has none
_OF_ACCOUNTS: Final = ("recipient_lists", "subaccounts")
