"""Describe every field that an event can have, with an example of its value (spec 2.11).

Values have the form that events have inside the service: ``timestamp`` and
``expiration_timestamp`` are whole milliseconds. All others have their public form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from chalicelib.core import ids


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an event."""

    description: str
    sample: Any


_USER_AGENT = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1"
)
_USER_AGENT_PARSED = {
    "agent_family": "Mobile Safari",
    "device_brand": "Apple",
    "device_family": "iPhone",
    "os_family": "iOS",
    "os_version": "17.4",
    "is_mobile": True,
    "is_proxy": False,
    "is_prefetched": False,
}
_GEO_IP = {
    "country": "NO",
    "region": "03",
    "city": "Oslo",
    "latitude": "59.9127",
    "longitude": "10.7461",
    "zip": "0150",
    "postal_code": "0150",
}
_AB_TEST = {
    "id": "spring-offer",
    "name": "Spring offer",
    "version": 1,
    "test_mode": "bayesian",
    "engagement_metric": "count_unique_clicked",
    "default_template": {
        "template_id": "spring-plain",
        "count_unique_clicked": 40,
        "count_accepted": 500,
        "engagement_rate": 0.08,
    },
    "variants": [
        {
            "template_id": "spring-pictures",
            "count_unique_clicked": 65,
            "count_accepted": 500,
            "engagement_rate": 0.13,
        }
    ],
    "winning_template_id": "spring-pictures",
}

FIELDS: Final[dict[str, Field]] = {
    name: Field(description, sample)
    for name, description, sample in (
        ("type", "What happened", "delivery"),
        (
            "event_id",
            "Unique id of the event. A redelivered event has the same id",
            "92356927693813856",
        ),
        ("timestamp", "When it happened", 1_767_225_600_000),
        ("customer_id", "Account that the event belongs to", "1"),
        ("subaccount_id", "Subaccount that sent the message, if one did", "101"),
        ("ab_test", "The A/B test that ended, and the results of its templates", _AB_TEST),
        ("ab_test_id", "A/B test that the message was part of", "spring-offer"),
        ("ab_test_version", "Version of that A/B test", "1"),
        ("amp_enabled", "Whether the message has an AMP part", False),
        ("batch_id", "Batch of ingested events", "5d7a4b1e-2f0c-4d57-9a35-0d9f3f1c6b60"),
        ("bounce_class", "Number of the class of the failure", "10"),
        ("campaign_id", "Campaign that the message was part of", "spring"),
        ("click_tracking", "Whether clicks on the message's links are tracked", True),
        ("delv_method", "Protocol by which the message was delivered", "esmtp"),
        ("device_token", "Device that a push message was for", "45c19189783f867973f6e6a5cca60061"),
        ("error_code", "Code with which the remote server refused the message", "550"),
        ("error_type", "Kind of problem with the batch", "validation"),
        ("expiration_timestamp", "When the file at `href` is removed", 1_767_312_000_000),
        ("fbtype", "Kind of feedback report", "abuse"),
        ("friendly_from", "Address in the message's From header", "news@example.test"),
        ("geo_ip", "Location of `ip_address`, if it is known", _GEO_IP),
        ("href", "File with the events that could not be ingested", "https://files.example.test/f"),
        (
            "initial_pixel",
            "Whether the message has a pixel at its beginning, or would have had if there were one",
            True,
        ),
        ("injection_time", "When the service accepted the message", "2025-12-31T23:59:58.250Z"),
        ("ip_address", "Host that accepted the message, or that made the request", "203.0.113.25"),
        ("ip_pool", "IP pool that the message was sent from", "default"),
        ("mailbox_provider", "Who hosts the recipient's mailbox", "Gmail"),
        ("mailbox_provider_region", "Region that this provider is mainly used in", "Global"),
        ("mailfrom", "Envelope sender of the message that asked to unsubscribe", "ann@inbox.test"),
        ("message_id", "Id of the message", "0288e8a6c5b4a1c000000000"),
        ("msg_from", "Envelope sender", "b.0288e8a6c5b4a1c000000000.x@bounces.example.test"),
        ("msg_size", "Size of the message in bytes", "1337"),
        ("num_retries", "How many attempts there were before this one", "2"),
        ("number_duplicates", "Events of the batch that were ingested before", 2),
        ("number_failed", "Events of the batch that could not be ingested", 0),
        ("number_succeeded", "Events of the batch that were ingested", 480),
        ("open_tracking", "Whether opens of the message are tracked", True),
        ("origination", "Where a relayed message came from", "inbound"),
        (
            "outbound_tls",
            "How the message left over TLS: dane or mta-sts where that policy of its domain"
            " authenticated the host, otherwise 1; empty without TLS",
            "1",
        ),
        ("protocol", "Protocol by which a relayed message was received", "smtp"),
        ("queue_time", "Milliseconds since the service accepted the message", "12"),
        ("raw_rcpt_to", "The recipient's address as the sender wrote it", "Ann@inbox.test"),
        ("raw_reason", "Reply of the remote server, unchanged", "550 5.1.1 Unknown user"),
        (
            "rcpt_hash",
            "SHA-1 of `rcpt_to`, in hexadecimal",
            ids.recipient_hash("ann@inbox.test"),
        ),
        ("rcpt_meta", "Metadata of the recipient and its transmission", {"order": "1027"}),
        ("rcpt_subs", "Substitution data of the recipient", {"name": "Ann"}),
        ("rcpt_tags", "Tags of the recipient", ["customers"]),
        ("rcpt_to", "The recipient's address in lower case", "ann@inbox.test"),
        ("rcpt_type", "Kind of copy: cc, bcc or archive; absent for the original", "cc"),
        ("reason", "Reply of the remote server, or why the service refused", "550 5.1.1 Unknown"),
        ("recipient_domain", "Domain of the recipient's address", "inbox.test"),
        ("recv_method", "Protocol by which the service accepted the message", "rest"),
        ("relay_id", "Id of the relayed message", "019b8d6d5f80a1b2c3d4e5f600"),
        ("remote_addr", "Address of the host that submitted the message", "203.0.113.77"),
        ("report_by", "Who sent the feedback report", "inbox.test"),
        ("report_to", "Where the feedback report was sent to", "abuse@example.test"),
        ("retryable", "Whether the same batch may be sent again", False),
        ("routing_domain", "Domain that the message was delivered to", "inbox.test"),
        ("scheduled_time", "When the transmission was to start, in Unix seconds", "1767225598"),
        ("sending_domain", "Domain that the message was sent from", "example.test"),
        ("sending_ip", "Address that the message was sent from", "198.51.100.7"),
        ("sms_coding", "Coding of an SMS", "ASCII"),
        ("sms_dst", "Destination of an SMS", "4790000001"),
        ("sms_dst_npi", "Numbering plan of the destination", "E164"),
        ("sms_dst_ton", "Type of number of the destination", "International"),
        ("sms_src", "Source of an SMS", "4790000002"),
        ("sms_src_npi", "Numbering plan of the source", "E164"),
        ("sms_src_ton", "Type of number of the source", "Unknown"),
        ("subject", "Subject of the message", "Hello Ann"),
        ("target_link_name", "Name of the link", "Start"),
        ("target_link_url", "Target of the link", "https://www.example.test/start"),
        ("template_id", "Template of the message", "spring-plain"),
        ("template_version", "Version of that template", "3"),
        ("transactional", "1 when the message is transactional; absent otherwise", "1"),
        ("transmission_id", "Transmission that the message was part of", "182763458271630241"),
        ("user_agent", "User-Agent header of the request", _USER_AGENT),
        ("user_agent_parsed", "The client, its device and its system", _USER_AGENT_PARSED),
        ("webhook_id", "Webhook that a relayed message goes to", "481516234224815162"),
    )
}
