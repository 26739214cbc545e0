"""Turn mail that comes back to the service's own addresses into events."""

from __future__ import annotations

import logging

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.domain_reports.receipt import NotVerifiable
from chalicelib.inbound import accept
from relay.backend import SubmittedEnvelope
from relay.errors import PermanentRefusal, RelayUnavailable

_log = logging.getLogger(__name__)

_NO_ADDRESS = (550, "5.1.1", "No such address, or not any more")
_NO_MESSAGE = (550, "5.1.1", "The message that this is about is not known")
_NO_KEY = (451, "4.7.5", "The key of the signature cannot be looked up now")


class ReportAcceptor:
    """Makes events of reports about messages that this service sent."""

    def is_served(self, recipient: str) -> bool:
        """Tell whether the domain is served; raises ``PermanentRefusal`` for an unknown address."""
        try:
            accept.check_recipient(recipient)
        except accept.NoSuchAddress:
            raise PermanentRefusal(*_NO_ADDRESS) from None
        except accept.NotServed:
            return False
        except (BotoCoreError, ClientError):
            raise _unavailable() from None
        return True

    def accept(self, envelope: SubmittedEnvelope) -> str:
        """Return the events' ids when they are queued; raises `SmtpRefusal` otherwise."""
        try:
            return accept.accept(envelope.mail_from, envelope.recipients, envelope.data)
        except accept.UnknownMessage:
            raise PermanentRefusal(*_NO_MESSAGE) from None
        except NotVerifiable:
            raise PermanentRefusal(*_NO_KEY) from None
        except (BotoCoreError, ClientError):
            raise _unavailable() from None


def _unavailable() -> RelayUnavailable:
    _log.exception("the cloud could not be reached")
    return RelayUnavailable()
