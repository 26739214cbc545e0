"""State which tables, queues and objects each function and each container uses.

Their IAM policies follow from this (`infrastructure.deployment.permissions`). Tests call every
function: a request that is not allowed here fails them, and so does a table that nobody uses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from infrastructure.deployment.functions import API_NAME


@dataclass(frozen=True, slots=True)
class Access:
    """What a function or a container uses.

    ``tables`` and ``queues`` have their short names; a queue's name that ends with ``*`` begins the
    names of several. ``queues`` are those to which messages are sent. ``actions`` are other
    permissions.
    """

    tables: frozenset[str]
    queues: frozenset[str]
    actions: frozenset[str]


def _access(tables: str = "", queues: Iterable[str] = (), actions: Iterable[str] = ()) -> Access:
    return Access(frozenset(tables.split()), frozenset(queues), frozenset(actions))


# Large payloads and bodies are objects of the bucket, and some are replaced by others
_READ: Final = ("s3:GetObject",)
_WRITE: Final = (*_READ, "s3:PutObject")
_OBJECTS: Final = (*_WRITE, "s3:DeleteObject")
_KEYS: Final = ("kms:Decrypt", "kms:Encrypt")
_MAIL: Final = ("ses:SendEmail", "ses:SendRawEmail")
_IDENTITIES: Final = (
    *("ses:CreateEmailIdentity", "ses:DeleteEmailIdentity", "ses:GetEmailIdentity"),
    *("ses:PutEmailIdentityDkimSigningAttributes", "ses:PutEmailIdentityFeedbackAttributes"),
    "ses:TagResource",
)
#: Permissions for what ``EVENT_TARGETS`` names; the service's own queues come by their names
TARGET_ACTIONS: Final = (
    *("events:PutEvents", "firehose:PutRecordBatch", "kinesis:PutRecords", "sns:Publish"),
    *("sqs:GetQueueUrl", "sqs:SendMessage"),
)

_SENDS: Final = ("generation", "small-sends")
_DELIVERS: Final = ("delivery", "small-deliveries", "held-deliveries", "container-*")
_RECORDS: Final = ("events", "event-exports", "webhook-events")

_MESSAGE_PATH: Final = "config messages metrics suppression transmissions"
_GENERATES: Final = ((*_SENDS, *_DELIVERS, *_RECORDS), (*_OBJECTS, *_KEYS, *_MAIL))
_DELIVERY: Final = _access("config messages", (*_DELIVERS, "events"), (*_OBJECTS, *_MAIL))

#: name of the function → what it uses
FUNCTIONS: Final = {
    API_NAME: _access(
        f"{_MESSAGE_PATH} audit events webhooks",
        (*_SENDS, "events", "ingest", "webhook-batches"),
        (*_OBJECTS, *_KEYS),
    ),
    "generation": _access(_MESSAGE_PATH, *_GENERATES),
    # After a lull it records the events of a send itself
    "small_sends": _access(f"{_MESSAGE_PATH} events", *_GENERATES),
    "delivery": _DELIVERY,
    "events": _access("config events messages metrics suppression", _RECORDS, _OBJECTS),
    "ingest": _access("events", ("events", "ingest"), _WRITE),
    "webhook_events": _access("", ("webhook-batches", "webhook-events"), _WRITE),
    "webhook_batches": _access(
        "config messages webhooks", ("events", "webhook-batches"), (*_WRITE, *_KEYS)
    ),
    # What is known of a message may be in the bucket
    "ses_notifications": _access("events messages", ("events",), _OBJECTS),
    "event_exports": _access("", ("event-exports",), (*_WRITE, *TARGET_ACTIONS)),
    # It sends what it forwards as the relay does
    "inbound_mail": _access(
        "config messages transmissions", (*_SENDS, "events", "webhook-batches"), _OBJECTS
    ),
    "start_transmissions": _access("config", _SENDS, _OBJECTS),
    "advance_warmup": _access("config"),
    "reverify_domains": _access("config", (), (*_KEYS, *_IDENTITIES)),
    "decide_ab_tests": _access("config", ("events",), _OBJECTS),
    "erase_recipients": _access("config events messages metrics suppression", (), _OBJECTS),
    "validate_lists": _access("config events suppression", (), _OBJECTS),
    "send_seeds": _access("config metrics", ("generation",), _OBJECTS),
    "send_tls_reports": _access("config messages transmissions", _SENDS, _OBJECTS),
    "roll_up_metrics": _access("config metrics", ("generation",), _OBJECTS),
    "clean_up": _access(),
}

RELAY: Final = _access(
    "config events messages transmissions", (*_SENDS, "events", "inbound-mail"), _OBJECTS
)
DELIVERY_CONTAINER: Final = _DELIVERY
