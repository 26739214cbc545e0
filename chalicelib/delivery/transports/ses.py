"""Send every message as raw content by the Amazon SES v2 API: the `ses` transport.

The client is passed in. It must not repeat a request, as that of `core.ses` does not: SendEmail is
not idempotent, and repeating a request after its answer got lost sends the message twice.

Where SES notifies this service (`inbound.ses_notifications`), what it accepts is not delivered yet:
its notification says how that ended. It names the message by a tag, the signed local part of the
return path. Bounces are then not forwarded by mail.

SES answers with names of exceptions, not with SMTP codes. `_REFUSALS` gives each name the outcome,
code and bounce class that it would have in SMTP. Faults that the operator can repair (a paused
account, a missing configuration set, and every name that is not listed, such as those about
permissions) are retried, so that the mail waits for the repair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, ReadTimeoutError

from chalicelib.core import ses
from chalicelib.core.addresses import in_a_labels
from chalicelib.core.bounce_classes import (
    ADMIN_FAILURE,
    GENERIC_BOUNCE,
    SOFT_BOUNCE,
    TIMEOUT,
    TRANSIENT_FAILURE,
)
from chalicelib.delivery.classify import classify
from chalicelib.delivery.outcome import Delivered, Failed, Outcome, Retry, internal
from chalicelib.delivery.transports import Commit, OutboundMessage
from chalicelib.delivery.transports.smtp_envelope import letters_failure
from chalicelib.sending_domains import return_path

_REFUSALS: dict[str, tuple[type[Retry] | type[Failed], int, str, int]] = {
    "TooManyRequestsException": (Retry, 454, "4.4.5", TRANSIENT_FAILURE),
    "ThrottlingException": (Retry, 454, "4.4.5", TRANSIENT_FAILURE),
    "LimitExceededException": (Retry, 454, "4.4.5", TRANSIENT_FAILURE),
    "SendingPausedException": (Retry, 454, "4.7.0", ADMIN_FAILURE),
    "AccountSuspendedException": (Retry, 454, "4.7.0", ADMIN_FAILURE),
    "NotFoundException": (Retry, 454, "4.3.5", ADMIN_FAILURE),
    "MailFromDomainNotVerifiedException": (Failed, 554, "5.7.1", ADMIN_FAILURE),
    "MessageRejected": (Failed, 554, "5.6.0", GENERIC_BOUNCE),
    "BadRequestException": (Failed, 554, "5.6.0", GENERIC_BOUNCE),
}

#: What SES passes on: it takes no local part beyond ASCII
_EXTENSIONS = frozenset({"8BITMIME"})


class SesClient(Protocol):
    """The part of the sesv2 client that is used here."""

    def send_email(self, **request: Any) -> Mapping[str, Any]:
        """Send one message; raise botocore exceptions."""
        ...


class SesTransport:
    """Deliver by SES, under the configuration set that is named.

    ``notifies`` says that this service gets the set's notifications.
    """

    def __init__(
        self, client: SesClient, configuration_set: str = "", *, notifies: bool = False
    ) -> None:
        self._client = client
        self._configuration_set = configuration_set
        self._notifies = notifies

    def deliver(self, message: OutboundMessage, commit: Commit) -> Outcome:
        """Attempt the message once; the whole request is the step to be committed."""
        sender, recipient = _in_a_labels(message.sender), _in_a_labels(message.recipient)
        if failure := letters_failure(message.data, sender, recipient, _EXTENSIONS):
            return failure
        return commit(lambda: self._send(message, sender, recipient))

    def close(self) -> None:
        """Do nothing: the client keeps its own connections."""

    def _send(self, message: OutboundMessage, sender: str, recipient: str) -> Outcome:
        request = self._request(message.data, sender, recipient)
        try:
            response = self._client.send_email(**request)
        except ClientError as error:
            return _outcome_of(error)
        except (ConnectTimeoutError, ReadTimeoutError) as error:
            return Retry(421, internal("4.4.2", f"SES did not answer: {error}"), TIMEOUT)
        except BotoCoreError as error:
            return Retry(421, internal("4.4.1", f"SES was not reached: {error}"), SOFT_BOUNCE)
        reply = f"2.0.0 accepted by SES as {response['MessageId']}"
        return Delivered(250, reply, tls="TLS", reports_later="EmailTags" in request)

    def _request(self, data: bytes, sender: str, recipient: str) -> dict[str, Any]:
        request: dict[str, Any] = {
            "Destination": {"ToAddresses": [recipient]},
            "Content": {"Raw": {"Data": data}},
        }
        local_part = sender.rpartition("@")[0]
        if self._notifies and return_path.message_of(local_part):
            request["EmailTags"] = [
                {"Name": ses.MESSAGE_TAG, "Value": ses.tag_value(local_part.lower())}
            ]
        elif sender:
            request["FeedbackForwardingEmailAddress"] = sender
        if self._configuration_set:
            request["ConfigurationSetName"] = self._configuration_set
        return request


def _in_a_labels(address: str) -> str:
    return in_a_labels(address) or address


def _outcome_of(error: ClientError) -> Retry | Failed:
    """Return the outcome for an exception of SES."""
    details = error.response.get("Error", {})
    name, text = details.get("Code", ""), details.get("Message", "")
    kind, code, status, bounce_class = _REFUSALS.get(name, (Retry, 451, "4.3.0", SOFT_BOUNCE))
    if bounce_class == GENERIC_BOUNCE:
        bounce_class = _class_of_text(code, text)
    return kind(code, f"{status} {name}: {text}", bounce_class)


def _class_of_text(code: int, text: str) -> int:
    """Return the bounce class of a message that SES rejects.

    Mostly an identity is not verified, which is a fault of this side and not of the recipient.
    """
    if "not verified" in text:
        return ADMIN_FAILURE
    return classify(code, text)
