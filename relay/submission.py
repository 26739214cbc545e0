"""Check logins against API keys, and accept SMTP messages as transmissions."""

from __future__ import annotations

import logging
from dataclasses import asdict

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.authentication.service import sender_again, sender_for
from chalicelib.core.errors import ContentTooLarge, Forbidden, ServiceError, Unauthorized
from chalicelib.transmissions.accept_smtp import SmtpMessage, accept_message
from chalicelib.transmissions.copies import Copies
from relay import replies
from relay.api_header import take_api_header
from relay.api_options import ApiOptions
from relay.backend import Identity, SubmittedEnvelope
from relay.errors import LoginRefused, PermanentRefusal, RelayUnavailable, SmtpRefusal
from relay.replies import Reply

_log = logging.getLogger(__name__)


class ApiKeyAuthenticator:
    """Checks that the password is an API key with the grant to send over SMTP (spec 5.7)."""

    def authenticate(self, password: str, subaccount: int | None, peer_ip: str) -> Identity:
        """Return whom the key sends for; raises ``LoginRefused``, or 454 without the cloud."""
        try:
            caller = sender_for(password, subaccount, peer_ip)
        except Unauthorized:
            raise LoginRefused from None
        except Forbidden as refusal:
            raise LoginRefused(Reply(535, "5.7.8", _text(refusal))) from None
        except (BotoCoreError, ClientError):
            _log.exception("the cloud could not be reached")
            raise SmtpRefusal(replies.LOGIN_UNAVAILABLE) from None
        return Identity(caller.account_id, caller.scope.owner, caller.key_id)


class TransmissionAcceptor:
    """Makes a transmission of a message, to the recipients of its envelope and its API header."""

    def accept(self, identity: Identity, envelope: SubmittedEnvelope) -> str:
        """Return the transmission's id when it is stored; raises `SmtpRefusal` otherwise."""
        try:
            sender_again(identity.key_id, identity.subaccount_id, envelope.peer_ip)
            api_options, data = take_api_header(envelope.data[:])
            message = _smtp_message(envelope, data, api_options or ApiOptions())
            return accept_message(identity.account_id, identity.subaccount_id, message)
        except ServiceError as refusal:
            raise _refused(refusal) from None
        except (BotoCoreError, ClientError):
            _log.exception("the cloud could not be reached")
            raise RelayUnavailable from None


def _smtp_message(envelope: SubmittedEnvelope, data: bytes, api_options: ApiOptions) -> SmtpMessage:
    options = asdict(api_options.options)
    return SmtpMessage(
        mail_from=envelope.mail_from,
        recipients=envelope.recipients,
        data=data,
        peer_ip=envelope.peer_ip,
        options={name: value for name, value in options.items() if value is not None},
        campaign_id=api_options.campaign_id or "",
        metadata=api_options.metadata,
        tags=api_options.tags,
        copies=Copies(api_options.cc, api_options.bcc, api_options.archive),
    )


def _refused(refusal: ServiceError) -> SmtpRefusal:
    """Return the SMTP refusal for a refusal of the service.

    A key that was revoked since the login gives 530 (RFC 4954 6). A sending limit gives 451 and
    not 550: its window moves on, so the client should keep the message and try again. A message
    that the transfer encoding it needs makes too large gives 552, as one that comes too large.
    """
    text = _text(refusal)
    if refusal.status == 401:
        return PermanentRefusal(530, "5.7.0", "The API key is not valid any more")
    if refusal.status == 420:
        return SmtpRefusal(Reply(451, "4.7.1", text))
    if refusal.status == 503:
        return RelayUnavailable()
    if isinstance(refusal, ContentTooLarge):
        return PermanentRefusal(552, "5.3.4", text)
    denied = refusal.status == 403 or refusal.errors[0].get("code") == "7001"
    return PermanentRefusal(550, "5.7.1" if denied else "5.6.0", text)


def _text(refusal: ServiceError) -> str:
    error = refusal.errors[0]
    return str(error.get("description") or error["message"])
