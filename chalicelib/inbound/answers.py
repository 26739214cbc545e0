"""Find the message of this service that received mail answers.

- The signed address that it was sent to (``options.reply_domain``) names it.
- In-Reply-To or References name the Message-ID that the service gave it. That is no proof, so the
  domain must be that of the message's From. A message with a Message-ID of its sender's own is
  not found in this way.

Only messages of the domain's own account count, and for the domain of a subaccount only those of
this subaccount.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from chalicelib.core.addresses import domain_of
from chalicelib.core.message_event import EventFields
from chalicelib.inbound_domains import reply_address
from chalicelib.received_mail.inbound_queue import InboundRecipient
from chalicelib.received_mail.model import InReplyTo, ParsedMessage
from chalicelib.tracking.store import message_context

#: Message-IDs that are looked up, the nearest first
MOST_REFERENCES = 3

_MESSAGE_ID = re.compile(r"([0-9a-f]{24})@([^@<>\s]+)")


class Answers:
    """The messages that one received message may answer; each is read once."""

    def __init__(self, parsed: ParsedMessage) -> None:
        self._parsed = parsed
        self._contexts: dict[str, EventFields] = {}

    def of(self, recipient: InboundRecipient) -> InReplyTo | None:
        """Return the message that mail to a recipient answers, ``None`` if that is none of ours."""
        for message_id, domain in self._candidates(recipient["address"]):
            fields = self._context(message_id)
            if _is_sent_by(recipient, fields) and domain in ("", _from_domain(fields)):
                return {
                    "transmission_id": fields["transmission_id"],
                    "message_id": message_id,
                    "rcpt_to": fields["rcpt_to"],
                }
        return None

    def _candidates(self, address: str) -> Iterator[tuple[str, str]]:
        """Yield message ids, each with the domain that must be that of the message's From."""
        if message_id := reply_address.message_of(address.rpartition("@")[0]):
            yield message_id, ""
        matches = map(_MESSAGE_ID.fullmatch, self._parsed.references)
        for match in islice(filter(None, matches), MOST_REFERENCES):
            yield match[1], domain_of(match[0])

    def _context(self, message_id: str) -> EventFields:
        if message_id not in self._contexts:
            context = message_context.of_message(message_id)
            self._contexts[message_id] = context.fields if context else {}
        return self._contexts[message_id]


def _is_sent_by(recipient: InboundRecipient, fields: EventFields) -> bool:
    if fields.get("customer_id") != str(recipient["account_id"]):
        return False
    subaccount_id = recipient["subaccount_id"]
    return not subaccount_id or fields.get("subaccount_id") == str(subaccount_id)


def _from_domain(fields: EventFields) -> str:
    return domain_of(fields.get("friendly_from", ""))
