"""The `ses` transport: every message goes out by the Amazon SES v2 API, as raw content.

The client (`boto3.client("sesv2")`) is passed in. Make it with `retries={"total_max_attempts": 1}`:
SendEmail is not idempotent, and a client that repeats a request whose answer got lost sends the
message twice.

SES answers by names of exceptions, not by SMTP codes. `_REFUSALS` gives each the finality, the code
and the bounce class it would have in SMTP. What the operator can repair (a paused account, a
missing configuration set, and by default every name that is not listed, such as those about
permissions) is retried, so that mail waits for the repair.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, ReadTimeoutError

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


class SesClient(Protocol):
    """The part of the sesv2 client that is used here."""

    def send_email(self, **request: Any) -> Mapping[str, Any]:
        """Send one message; raise botocore exceptions."""
        ...


class SesTransport:
    """Deliver by SES; `configuration_set` is the one that the messages are counted under."""

    def __init__(self, client: SesClient, configuration_set: str = "") -> None:
        self._client = client
        self._configuration_set = configuration_set

    def deliver(self, message: OutboundMessage, commit: Commit) -> Outcome:
        """Attempt the message once; the whole request is the step to be committed."""
        return commit(lambda: self._send(message))

    def close(self) -> None:
        """Do nothing: the client keeps its own connections."""

    def _send(self, message: OutboundMessage) -> Outcome:
        try:
            answer = self._client.send_email(**self._request(message))
        except ClientError as error:
            return _refused(error)
        except (ConnectTimeoutError, ReadTimeoutError) as error:
            return Retry(421, internal("4.4.2", f"SES did not answer: {error}"), TIMEOUT)
        except BotoCoreError as error:
            return Retry(421, internal("4.4.1", f"SES was not reached: {error}"), SOFT_BOUNCE)
        return Delivered(250, f"2.0.0 accepted by SES as {answer['MessageId']}", tls="TLS")

    def _request(self, message: OutboundMessage) -> dict[str, Any]:
        request: dict[str, Any] = {
            "Destination": {"ToAddresses": [in_a_labels(message.recipient) or message.recipient]},
            "Content": {"Raw": {"Data": message.data}},
        }
        if message.sender:
            request["FeedbackForwardingEmailAddress"] = message.sender
        if self._configuration_set:
            request["ConfigurationSetName"] = self._configuration_set
        return request


def _refused(error: ClientError) -> Retry | Failed:
    """Return the outcome for an answer that is an exception of SES."""
    details = error.response.get("Error", {})
    name, told = details.get("Code", ""), details.get("Message", "")
    kind, code, status, bounce_class = _REFUSALS.get(name, (Retry, 451, "4.3.0", SOFT_BOUNCE))
    if bounce_class == GENERIC_BOUNCE:
        bounce_class = _class_of_words(code, told)
    return kind(code, f"{status} {name}: {told}", bounce_class)


def _class_of_words(code: int, told: str) -> int:
    """Return the class of what SES says about a message it does not take.

    Mostly that an identity is not verified, which is this side's affair.
    """
    if "not verified" in told:
        return ADMIN_FAILURE
    return classify(code, told)
