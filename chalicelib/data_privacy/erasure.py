"""Forgetting a recipient: what is deleted, and what is left to expire.

Deleted are the recipient's suppression entries (but those of compliance, which nobody can remove
over the API: spec 4.8 rule 1) and events, what the events of messages yet to come would tell of
their recipient and subject, and the data that seeding would make copies with. The address of a
message stays with it, or its recipient could not unsubscribe by it any more.

The account's own things are left alone: stored lists, templates, and the content of transmissions,
which expires after 30 days. What is on its way (queues, deferred messages, batches of webhooks for
a day) comes to its end; of messages whose events have expired, what is kept expires as well.
"""

from __future__ import annotations

from chalicelib.core.scope import Scope
from chalicelib.events import service as events
from chalicelib.seeding.store import samples
from chalicelib.suppression import removal
from chalicelib.suppression.model import listed_as
from chalicelib.tracking.store import message_context


def erase(scope: Scope, recipient: str, *, compliance: bool = False) -> int:
    """Forget a recipient; return how many entries and events there were.

    An erasure that is interrupted can be done again: the events, which tell of the messages, go
    last. Entries of compliance go if ``compliance`` is true.
    """
    gone = removal.erase(scope, recipient, compliance=compliance)
    for spelling in dict.fromkeys((recipient.lower(), listed_as(recipient))):
        samples.erase_recipient(scope, spelling)
        message_context.forget(scope.account_id, spelling, events.messages_to(scope, spelling))
        gone += events.erase_recipient(scope, spelling)
    return gone
