"""Forget a recipient: delete what the service stores about the recipient.

It deletes the recipient's suppression entries (except those of compliance, which nobody can remove
over the API: spec 4.8 rule 1) and events, the recipient and subject in the context from which later
events of the messages are made, the data for seed messages, and mail that was received from or for
the recipient, with its events. The address stays with each message, because otherwise its recipient
could no longer unsubscribe through it.

The account's own data stays: stored lists, templates, and the content of transmissions, which
expires after 30 days. Work under way (queues, deferred messages, batches of webhooks for a day)
is finished; the context of messages whose events have expired expires as well. So do events of mail
from the recipient that was refused or dropped: nothing is stored by which they could be found.
"""

from __future__ import annotations

from collections import defaultdict

from chalicelib.core.addresses import spelling, spellings
from chalicelib.core.scope import Scope
from chalicelib.events import service as events
from chalicelib.received_mail import service as received_mail_service
from chalicelib.received_mail import store as received_mail
from chalicelib.seeding.store import samples
from chalicelib.suppression import removal
from chalicelib.tracking.store import message_context


def erase(scope: Scope, recipient: str, *, compliance: bool = False) -> int:
    """Forget a recipient; return how many entries, events and messages were deleted.

    An erasure that is interrupted can be repeated: the events, which name the messages, are deleted
    last. Entries of compliance are deleted if ``compliance`` is true.
    """
    deleted = removal.erase(scope, recipient, compliance=compliance)
    samples.erase_recipient(scope, recipient)
    deleted += _erase_received_mail(scope, spelling(recipient))
    for each in spellings(recipient):
        message_context.forget(scope.account_id, each, events.messages_to(scope, each))
        deleted += events.erase_recipient(scope, each)
    return deleted


def _erase_received_mail(scope: Scope, address: str) -> int:
    """Delete the mail from and for an address; its events go first, because it names them."""
    relay_ids: dict[str, set[str]] = defaultdict(set)
    for message in received_mail.to_or_from(scope, [address]):
        relay_ids[spelling(message.rcpt_to)].add(message.id)
    deleted = sum(events.erase_received(scope, *each) for each in relay_ids.items())
    return deleted + received_mail_service.erase(scope, [address])
