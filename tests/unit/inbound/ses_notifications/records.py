"""Event records as Amazon SES publishes them, one of each type.

Rebuilt from the examples in the Amazon SES Developer Guide ("Examples of event data that Amazon SES
publishes to Amazon SNS", "Amazon SNS notification examples") with a message of ours; those that
name hosts of SES are as its mailbox simulator causes them.
"""

from __future__ import annotations

import json
from typing import Any

from chalicelib.core import ses
from chalicelib.sending_domains import return_path
from tests.unit.inbound.examples import INJECTED_MS, MESSAGE
from tests.unit.inbound.samples import RCPT

#: 9:00:20, 20 seconds after the message was injected
AT = "2026-01-31T09:00:20.095Z"
AT_MS = INJECTED_MS + 20_095
OWN_HOST = "dns; a48-30.smtp-out.amazonses.com"


def report_id(message_id: str = MESSAGE) -> str:
    """Return the signed text that names a message."""
    return return_path.local_part(message_id, INJECTED_MS)


def mail(message_id: str = MESSAGE, *, tagged: bool = True) -> dict[str, Any]:
    """Return the part of a record that tells which message it is about."""
    tags = {
        "ses:configuration-set": ["postfinch-prod"],
        "ses:source-ip": ["192.0.2.0"],
        "ses:from-domain": ["example.com"],
        "ses:caller-identity": ["ses_user"],
    }
    if tagged:
        tags[ses.MESSAGE_TAG] = [ses.tag_value(report_id(message_id))]
    headers = [
        {"name": "From", "value": '"Sender" <sender@example.com>'},
        {"name": "To", "value": RCPT},
        {"name": "Subject", "value": "Message sent from Amazon SES"},
        {"name": "X-SVC-Report-ID", "value": report_id(message_id)},
        {"name": "MIME-Version", "value": "1.0"},
    ]
    return {
        "timestamp": "2026-01-31T09:00:01.500Z",
        "source": "sender@example.com",
        "sourceArn": "arn:aws:ses:us-east-1:123456789012:identity/example.com",
        "sendingAccountId": "123456789012",
        "messageId": "EXAMPLE7c191be45-e9aedb9a-02f9-4d12-a87d-dd0099a07f8a-000000",
        "destination": [RCPT],
        "headersTruncated": False,
        "headers": headers,
        "commonHeaders": {"from": ["Sender <sender@example.com>"], "to": [RCPT]},
        "tags": tags,
    }


def record(kind: str, name: str, details: dict[str, Any], **options: Any) -> str:
    """Return a record of a type, whose details are in the object ``name``."""
    return json.dumps({"eventType": kind, "mail": mail(**options), name: details})


def bounce(
    main_type: str = "Permanent",
    sub_type: str = "General",
    status: str = "5.1.1",
    diagnostic: str = "smtp; 550 5.1.1 user unknown",
    reporting: str = OWN_HOST,
    remote_ip: str = "192.0.2.25",
    **options: Any,
) -> str:
    """Return the record of a bounce; empty texts are left out."""
    recipient = {
        "emailAddress": RCPT,
        "action": "failed",
        "status": status,
        "diagnosticCode": diagnostic,
    }
    details = {
        "feedbackId": "01000157c44f053b-61b59c11-9236-11e6-8f96-7be8aexample-000000",
        "bounceType": main_type,
        "bounceSubType": sub_type,
        "bouncedRecipients": [{key: text for key, text in recipient.items() if text}],
        "timestamp": AT,
        "reportingMTA": reporting,
        "remoteMtaIp": remote_ip,
    }
    return record("Bounce", "bounce", {k: v for k, v in details.items() if v}, **options)


def late_bounce(**fields: Any) -> str:
    """Return the record of a bounce that a host reports after it had taken the message."""
    return bounce(**{"reporting": "dsn; mta.example.com", "remote_ip": "", **fields})


def complaint(kind: str | None = "abuse", sub_type: str | None = None, **options: Any) -> str:
    """Return the record of a complaint."""
    details: dict[str, Any] = {
        "feedbackId": "01000157c44f053b-61b59c11-9236-11e6-8f96-7be8aexample-000000",
        "complaintSubType": sub_type,
        "complainedRecipients": [{"emailAddress": RCPT}],
        "timestamp": AT,
        "userAgent": "Amazon SES Mailbox Simulator",
        "arrivalDate": AT,
    }
    if kind:
        details["complaintFeedbackType"] = kind
    return record("Complaint", "complaint", details, **options)


def delivery(**options: Any) -> str:
    """Return the record of a delivery."""
    details = {
        "timestamp": AT,
        "processingTimeMillis": 11893,
        "recipients": [RCPT],
        "smtpResponse": "250 2.6.0 Message received",
        "remoteMtaIp": "192.0.2.25",
        "reportingMTA": "a48-30.smtp-out.amazonses.com",
    }
    return record("Delivery", "delivery", details, **options)


def delay(kind: str = "TransientCommunicationFailure", at: str = AT, **options: Any) -> str:
    """Return the record of a delay."""
    recipient = {
        "emailAddress": RCPT,
        "status": "4.4.1",
        "diagnosticCode": "smtp; 421 4.4.1 Unable to connect to remote host",
    }
    details = {
        "timestamp": at,
        "delayType": kind,
        "expirationTime": "2026-01-31T22:25:40.914Z",
        "delayedRecipients": [recipient],
    }
    return record("DeliveryDelay", "deliveryDelay", details, **options)


def rejection(**options: Any) -> str:
    """Return the record of a message in which SES found a virus."""
    return record("Reject", "reject", {"reason": "Bad content"}, **options)


def rendering_failure(**options: Any) -> str:
    """Return the record of a message that SES could not make from its template."""
    details = {
        "errorMessage": "Attribute 'attributeName' is not present in the rendering data.",
        "templateName": "MyTemplate",
    }
    return record("Rendering Failure", "failure", details, **options)


def others() -> list[str]:
    """Return records of which nothing is recorded here."""
    opened = {
        "ipAddress": "192.0.2.1",
        "timestamp": AT,
        "userAgent": "Mozilla/5.0 (iPhone; CPU iPhone OS 10_3_3 like Mac OS X)",
    }
    clicked = {**opened, "link": "http://docs.aws.amazon.com/ses/", "linkTags": {"a": ["b"]}}
    subscribed = {
        "contactList": "ContactListName",
        "timestamp": AT,
        "source": "UnsubscribeHeader",
        "newTopicPreferences": {"unsubscribeAll": True},
    }
    return [
        record("Send", "send", {}),
        record("Open", "open", opened),
        record("Click", "click", clicked),
        record("Subscription", "subscription", subscribed),
    ]


def in_envelope(body: str) -> str:
    """Return a record in the envelope of SNS, which a subscription may ask for."""
    envelope = {
        "Type": "Notification",
        "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        "TopicArn": "arn:aws:sns:us-west-2:123456789012:MyTopic",
        "Message": body,
        "Timestamp": "2026-01-31T09:00:21.000Z",
        "SignatureVersion": "1",
        "Signature": "EXAMPLE",
        "SigningCertURL": "https://sns.us-west-2.amazonaws.com/x.pem",
        "UnsubscribeURL": "https://sns.us-west-2.amazonaws.com/?Action=Unsubscribe",
    }
    return json.dumps(envelope)


#: One record of each type that makes an event
ALL = (bounce, late_bounce, complaint, delivery, delay, rejection, rendering_failure)
