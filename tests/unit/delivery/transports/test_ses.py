"""The ses transport sends messages with a client, which is mostly a fake."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import boto3
import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from moto import mock_aws
from moto.ses.models import ses_backends

from chalicelib.core import clock, ids, ses
from chalicelib.delivery.outcome import Delivered, Failed, Outcome, Retry
from chalicelib.delivery.transports import OutboundMessage, Transport, commit_at_once
from chalicelib.delivery.transports.ses import SesTransport
from chalicelib.sending_domains import return_path

MESSAGE = OutboundMessage("bounces@example.com", "b@example.net", b"Subject: x\r\n\r\nx\r\n")


class FakeClient:
    """Keeps the requests; returns a response or raises an error."""

    def __init__(self, error: Exception | None = None) -> None:
        self.requests: list[dict[str, Any]] = []
        self._error = error

    def send_email(self, **request: Any) -> dict[str, str]:
        self.requests.append(request)
        if self._error:
            raise self._error
        return {"MessageId": "0100abc"}


def test_an_international_domain_is_sent_in_a_labels() -> None:
    client = FakeClient()
    message = replace(MESSAGE, recipient="b@b\u00fccher.example")
    SesTransport(client).deliver(message, commit_at_once)
    assert client.requests[0]["Destination"] == {"ToAddresses": ["b@xn--bcher-kva.example"]}


@pytest.mark.parametrize(
    "fields",
    [
        {"recipient": "us\u00e9r@example.net"},
        {"sender": "us\u00e9r@example.net"},
        {"data": "From: us\u00e9r@example.net\r\n\r\nx\r\n".encode()},
    ],
)
def test_an_address_that_ses_does_not_take_fails_without_a_request(fields: Any) -> None:
    client = FakeClient()
    outcome = SesTransport(client).deliver(replace(MESSAGE, **fields), commit_at_once)
    assert isinstance(outcome, Failed)
    assert outcome.bounce_class == 40
    assert client.requests == []


def test_eight_bit_content_is_sent() -> None:
    client = FakeClient()
    message = replace(MESSAGE, data="Subject: x\r\n\r\n\u00e9\r\n".encode())
    assert SesTransport(client).deliver(message, commit_at_once).code == 250


def outcome_of(error: Exception) -> Outcome:
    return SesTransport(FakeClient(error)).deliver(MESSAGE, commit_at_once)


def exception(name: str, text: str = "no", status: int = 400) -> ClientError:
    return ClientError(
        {
            "Error": {"Code": name, "Message": text},
            "ResponseMetadata": {
                "HTTPStatusCode": status,
                "RequestId": "r",
                "HTTPHeaders": {},
                "RetryAttempts": 0,
                "HostId": "",
            },
        },
        "SendEmail",
    )


def test_a_message_goes_out_as_raw_content() -> None:
    client = FakeClient()
    transport: Transport = SesTransport(client, "mail")
    outcome = transport.deliver(MESSAGE, commit_at_once)
    transport.close()
    assert outcome == Delivered(250, "2.0.0 accepted by SES as 0100abc", None, "TLS")
    assert client.requests == [
        {
            "Destination": {"ToAddresses": ["b@example.net"]},
            "Content": {"Raw": {"Data": MESSAGE.data}},
            "FeedbackForwardingEmailAddress": "bounces@example.com",
            "ConfigurationSetName": "mail",
        }
    ]


def test_what_ses_reports_later_is_tagged_with_the_signed_text_of_its_return_path() -> None:
    client = FakeClient()
    message_id = ids.message_id("191930000000000001", 3)
    local_part = return_path.local_part(message_id, clock.now_ms())
    transport = SesTransport(client, "postfinch-test", notifies=True)
    tagged = replace(MESSAGE, sender=f"{local_part}@bounces.example.com")
    outcome = transport.deliver(tagged, commit_at_once)
    assert isinstance(outcome, Delivered)
    assert outcome.reports_later
    (request,) = client.requests
    assert "FeedbackForwardingEmailAddress" not in request
    assert request["ConfigurationSetName"] == "postfinch-test"
    (tag,) = request["EmailTags"]
    # What SES allows in a tag
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,256}", tag["Name"])
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,256}", tag["Value"])
    assert return_path.message_of(ses.local_part_of(tag["Value"])) == message_id


def test_a_message_that_no_notification_could_name_counts_as_delivered_at_once() -> None:
    client = FakeClient()
    outcome = SesTransport(client, "set", notifies=True).deliver(MESSAGE, commit_at_once)
    assert isinstance(outcome, Delivered)
    assert not outcome.reports_later
    assert client.requests[0]["FeedbackForwardingEmailAddress"] == MESSAGE.sender


def test_absent_fields_are_left_out_of_the_request() -> None:
    client = FakeClient()
    SesTransport(client).deliver(OutboundMessage("", "b@example.net", b"x"), commit_at_once)
    assert set(client.requests[0]) == {"Destination", "Content"}


def test_the_request_is_made_inside_the_commit_window() -> None:
    client = FakeClient()
    seen: list[int] = []

    def commit(finish: Callable[[], Outcome]) -> Outcome:
        seen.append(len(client.requests))
        outcome = finish()
        seen.append(len(client.requests))
        return outcome

    SesTransport(client).deliver(MESSAGE, commit)
    assert seen == [0, 1]


@pytest.mark.parametrize(
    ("error", "kind", "bounce_class"),
    [
        (exception("TooManyRequestsException", status=429), Retry, 70),
        (exception("ThrottlingException"), Retry, 70),
        (exception("LimitExceededException"), Retry, 70),
        (exception("SendingPausedException"), Retry, 25),
        (exception("AccountSuspendedException"), Retry, 25),
        (exception("NotFoundException", status=404), Retry, 25),
        (exception("AccessDeniedException", status=403), Retry, 20),
        (exception("InternalFailure", status=500), Retry, 20),
        (exception("SomethingNew"), Retry, 20),
        (exception("MailFromDomainNotVerifiedException"), Failed, 25),
        (exception("MessageRejected", "Email address is not verified."), Failed, 25),
        (exception("MessageRejected", "Address blacklisted."), Failed, 51),
        (exception("MessageRejected", "Transaction failed: contains a virus"), Failed, 53),
        (exception("BadRequestException", "Message length exceeds 41943040"), Failed, 23),
        (exception("BadRequestException", "Missing final '@domain'"), Failed, 1),
        (ConnectTimeoutError(endpoint_url="https://ses"), Retry, 24),
        (ReadTimeoutError(endpoint_url="https://ses"), Retry, 24),
        (EndpointConnectionError(endpoint_url="https://ses"), Retry, 20),
        (NoCredentialsError(), Retry, 20),
    ],
)
def test_an_exception_is_an_outcome(
    error: Exception, kind: type[Retry | Failed], bounce_class: int
) -> None:
    outcome = outcome_of(error)
    assert isinstance(outcome, kind)
    assert outcome.bounce_class == bounce_class
    assert (outcome.code >= 500) is (kind is Failed)


def test_the_reply_names_the_exception() -> None:
    outcome = outcome_of(exception("MessageRejected", "Email address is not verified."))
    assert outcome.reply == "5.6.0 MessageRejected: Email address is not verified."


@mock_aws
def test_a_real_client_sends_the_request() -> None:
    transport = SesTransport(boto3.client("sesv2", region_name="us-east-1"))
    message = replace(MESSAGE, data=b"From: news@example.com\r\n" + MESSAGE.data)
    assert isinstance(transport.deliver(message, commit_at_once), Failed)
    boto3.client("ses", region_name="us-east-1").verify_domain_identity(Domain="example.com")
    assert isinstance(transport.deliver(message, commit_at_once), Delivered)
    (raw,) = ses_backends["123456789012"]["us-east-1"].sent_messages
    assert raw.raw_data == message.data.decode()
    assert set(raw.destinations) == {message.recipient}


def test_a_fault_of_this_program_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        outcome_of(ZeroDivisionError())
