"""Take mail from elsewhere: to the service's own addresses, and to inbound domains."""

from __future__ import annotations

import logging
from dataclasses import replace

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.core import clock
from chalicelib.domain_reports.receipt import NotVerifiable
from chalicelib.inbound import accept, receive
from chalicelib.inbound.loops import Hop
from chalicelib.inbound.receive import InboundMessage
from chalicelib.inbound_domains.model import InboundDomain
from relay import replies
from relay.backend import SubmittedEnvelope
from relay.errors import PermanentRefusal, RelayUnavailable, SmtpRefusal
from relay.replies import Reply

_log = logging.getLogger(__name__)

_NO_ADDRESS = (550, "5.1.1", "No such address, or not any more")
_NO_MESSAGE = (550, "5.1.1", "The message that this is about is not known")
_NO_KEY = (451, "4.7.5", "The key of the signature cannot be looked up now")


class MailAcceptor:
    """Makes events of reports about messages that this service sent, and queues other mail."""

    def place_of(self, recipient: str) -> InboundDomain | None:
        """Return the inbound domain of a recipient, None for an own address; else refuse it."""
        try:
            return receive.place_of(recipient)
        except accept.NoSuchAddress:
            raise PermanentRefusal(*_NO_ADDRESS) from None
        except accept.NotServed:
            raise SmtpRefusal(replies.RELAYING_DENIED) from None
        except (BotoCoreError, ClientError):
            raise _unavailable() from None

    def begun(self, envelope: SubmittedEnvelope) -> SubmittedEnvelope:
        """Return the envelope with the id and the trace of its message."""
        envelope = replace(envelope, id=receive.new_id(), received_ms=clock.now_ms())
        return replace(envelope, trace=receive.trace_of(_message(envelope)))

    def accept(self, envelope: SubmittedEnvelope) -> str:
        """Return the ids of events, or of the message, when they are queued.

        Raises `SmtpRefusal` otherwise. Reports come first: their events keep their ids if the
        client has to repeat the message.
        """
        message = _message(envelope)
        has_inbound = any(message.places)
        try:
            events = self._accept_reports(envelope, message.own(), has_inbound)
            if not has_inbound:
                return events
            receive.store(message, envelope.data)
        except receive.MessageLoops:
            raise SmtpRefusal(replies.LOOP) from None
        except NotVerifiable:
            raise PermanentRefusal(*_NO_KEY) from None
        except (BotoCoreError, ClientError):
            raise _unavailable() from None
        return envelope.id

    def rejected(self, envelope: SubmittedEnvelope, reply: Reply) -> None:
        """Queue the events of a refused message; without the cloud there are none."""
        try:
            receive.reject(_message(envelope), reply.code, f"{reply.enhanced} {reply.text}")
        except (BotoCoreError, ClientError):
            _log.exception("a refused message has no event")

    def _accept_reports(
        self, envelope: SubmittedEnvelope, addresses: list[str], has_others: bool
    ) -> str:
        if not addresses:
            return accept.NO_EVENT
        try:
            data = envelope.data[len(envelope.trace) :]
            return accept.accept(envelope.mail_from, addresses, data)
        except accept.UnknownMessage:
            if has_others:  # they shall have the message all the same
                return accept.NO_EVENT
            raise PermanentRefusal(*_NO_MESSAGE) from None


def _message(envelope: SubmittedEnvelope) -> InboundMessage:
    return InboundMessage(
        hop=Hop(
            id=envelope.id,
            received_ms=envelope.received_ms,
            helo=envelope.helo,
            peer_ip=envelope.peer_ip,
            tls=envelope.tls,
            is_utf8=envelope.smtp_utf8,
            recipients=envelope.recipients,
        ),
        mail_from=envelope.mail_from,
        places=envelope.places or (None,) * len(envelope.recipients),
        trace=envelope.trace,
    )


def _unavailable() -> RelayUnavailable:
    _log.exception("the cloud could not be reached")
    return RelayUnavailable()
