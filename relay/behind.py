"""What stands behind the relay in this service: API keys and the transmissions' acceptance."""

from __future__ import annotations

import logging

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.api_keys.authenticate import find
from chalicelib.core.errors import ServiceError, Unauthorized
from chalicelib.transmissions.accept_smtp import accept_message, check_recipient
from relay.ports import Envelope, Identity, LoginRefused, Refused, Unavailable

_log = logging.getLogger(__name__)

INJECT = "smtp/inject"


class ApiKeyAuthenticator:
    """The password is an API key that holds the grant to send over SMTP (spec 5.7)."""

    def authenticate(self, password: str, subaccount: int | None, peer_ip: str) -> Identity:
        """Return who the key sends for; raises ``LoginRefused``."""
        try:
            key = find(password)
        except Unauthorized:
            raise LoginRefused from None
        except (BotoCoreError, ClientError):
            raise _unavailable() from None
        if INJECT not in key.grants:
            raise LoginRefused
        if key.subaccount_id is not None:
            return Identity(key.account_id, key.subaccount_id, key.key_id)
        return Identity(key.account_id, subaccount or None, key.key_id)


class TransmissionAcceptor:
    """A message becomes a transmission with its envelope's recipients."""

    def check_sender(self, identity: Identity, mail_from: str) -> None:
        """Take any reverse-path: it is replaced by the service's own."""

    def accept(self, identity: Identity, envelope: Envelope) -> str:
        """Return the transmission's id when it is stored; raises ``Refused``, ``Unavailable``."""
        try:
            for recipient in envelope.recipients:
                check_recipient(recipient)
            return accept_message(
                identity.account_id,
                identity.subaccount_id,
                envelope.recipients,
                envelope.data,
                envelope.peer_ip,
            )
        except ServiceError as refusal:
            raise _refused(refusal) from None
        except (BotoCoreError, ClientError):
            raise _unavailable() from None


def _refused(refusal: ServiceError) -> Refused:
    error = refusal.errors[0]
    text = error.get("description") or error["message"]
    enhanced = "5.7.1" if error.get("code") == "7001" else "5.6.0"
    return Refused(550, enhanced, text)


def _unavailable() -> Unavailable:
    _log.exception("the cloud could not be reached")
    return Unavailable()
