"""Describe the parameters, bodies and responses of the operations of ``/local``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chalicelib.openapi.operation import Operation, content, query, results
from chalicelib.openapi.schema import (
    array,
    flag,
    integer,
    mapping,
    nullable,
    number,
    obj,
    of_model,
    one_of,
    record,
    text,
)
from infrastructure.local.gateway.delivery_endpoint import DeliveryEndpoint
from infrastructure.local.gateway.dns_endpoint import DnsEndpoint
from infrastructure.local.gateway.failures_endpoint import FailuresEndpoint, RuleBody
from infrastructure.local.gateway.live_stream import LiveStream
from infrastructure.local.gateway.mailbox_endpoint import (
    DEFAULT_LIMIT,
    MOST_DETAILED,
    MOST_LISTED,
    MailboxEndpoint,
)
from infrastructure.local.gateway.mailbox_import import MailboxImport
from infrastructure.local.gateway.message_endpoint import ACTIONS, MOST_TEXT, WAYS, MessageEndpoint
from infrastructure.local.gateway.metrics_endpoint import MetricsEndpoint
from infrastructure.local.gateway.sign_in_endpoint import SignInEndpoint
from infrastructure.local.gateway.webhook_store import MOST_REQUESTS
from infrastructure.local.gateway.webhooks_endpoint import ReceiverBody, WebhooksEndpoint
from infrastructure.local.sink.failure_rules import STEPS

_ENTRY: dict[str, Any] = {
    "id": text(),
    "from_": text(),
    "to": text(),
    "subject": text(),
    "received_at": text(),
    "size": integer(),
    "unread": flag(),
    "inbox": text(),
}
_DETAILS: dict[str, Any] = {
    "from_name": text(),
    "snippet": text(),
    "attachments": integer(),
    "message_id": nullable(text()),
    "transmission_id": nullable(text()),
    "subaccount_id": nullable(integer()),
    "campaign_id": nullable(text()),
    "tags": array(text()),
}
_COUNTS = record(messages=integer(), unread=integer())
_PART = record(
    part=integer(),
    role=one_of(["text", "html", "amp", "attachment", "inline"]),
    content_type=text(),
    charset=text(),
    size=integer(),
    filename=text(),
    content_id=text(),
)
_HEADERS = array(record(name=text(), value=text()))
_CONTENT = record(
    **_ENTRY,
    **_DETAILS,
    envelope_from=text(),
    login=text(about="The name that the sender logged in with at the catching port"),
    headers=_HEADERS,
    text=nullable(text()),
    html=nullable(text()),
    amp=nullable(text()),
    parts=array(_PART),
    problem=text(about="Why the structure could not be read; empty if it could"),
)
_LINK = record(
    url=text(),
    part=one_of(["text", "html", "amp", "header"]),
    text=text(),
    kind=one_of(["open", "click", "unsubscribe", "image", "link", "mailto"]),
    tracked=flag(),
    target=nullable(text()),
    name=text(),
)
_CHECK = record(
    check=text(),
    status=one_of(["pass", "warn", "fail", "none"]),
    summary=text(),
    details=array(text()),
)
_FEATURE = record(feature=text(), uses=integer(), example=text())
_ACTION = obj(
    "action",
    action=one_of(ACTIONS),
    url=text(),
    way=one_of(WAYS),
    text=text(least=1, most=MOST_TEXT, about="What the person writes, for the action `answer`"),
)
_STEPS = record(
    action=one_of(ACTIONS),
    steps=array(record(method=one_of(["GET", "POST", "SMTP"]), url=text(), status=integer())),
)
_RECORDS = array(record(type=one_of(["A", "AAAA", "CNAME", "MX", "NS", "TXT"]), value=text()))
_ANSWER = record(name=text(), origin=one_of(["user", "service"]), records=_RECORDS)
_RULE = record(
    id=integer(),
    pattern=text(),
    step=one_of(STEPS),
    code=nullable(integer()),
    text=text(),
    delay=number(),
    times=nullable(integer()),
    percent=integer(),
    enabled=flag(),
    applied=integer(),
)
_RECEIVER = record(
    name=text(),
    path=text(),
    has_secret=flag(),
    status=integer(),
    delay=number(),
    times=nullable(integer()),
    requests=integer(),
)
_REQUEST: dict[str, Any] = {
    "id": integer(),
    "received_at": text(),
    "status": integer(),
    "delay": number(),
    "size": integer(),
    "signature": one_of(["valid", "invalid", "missing", "unchecked"]),
}
_LEAVES_BY = nullable(text(about="By what mail leaves this machine; null if none leaves"))
_FINDING = record(
    check=text(), status=one_of(["ok", "warning", "problem"]), detail=text(), remedy=text()
)
_DELETED = results(record(deleted=integer()))
_UNREAD = obj("unread", unread=flag())
_HTML = content("text/html", text(), about="A page in which nothing runs")
_IMAGES = (query("images", one_of(["remote"]), "Load remote images"),)
_KEY: dict[str, Any] = {
    "name": "Authorization",
    "in": "header",
    "required": True,
    "schema": text(),
    "description": "The API key that `postfinch run` prints",
}
_FILTERS = (
    query("q", text(), "Search, such as `to:ann@inbox.test is:unread -tag:test spring`"),
    query("to", text(), "Whole recipient; `*` stands for any characters"),
    query("from", text(), "Part of the From field or of the envelope sender"),
    query("subject", text(), "Part of the subject"),
    query("subaccount", integer(0), "Subaccount that sent the message, 0 for none"),
    query("inbox", text(), "Inbox that the message is in; empty for mail of no other one"),
)
_LIST = (
    *_FILTERS,
    query("details", one_of(["true"]), f"Add details; at most {MOST_DETAILED} messages then"),
    query("limit", integer(0, MOST_LISTED), f"Most messages; {DEFAULT_LIMIT} without it"),
    query("cursor", text(), "Where the next page begins, as in `links.next`"),
)

_IMPORT = (
    query("inbox", text(), "The inbox that the message is in; else as `CATCH_INBOX` divides them"),
    query("from", text(), "The envelope sender; else that in the message"),
    query("to", text(), "The recipients, comma-separated; else those in the message"),
)

#: Operations by method and path: the function, whose docstring is the summary, and its description
OPERATIONS: dict[str, tuple[Callable[..., Any], Operation]] = {
    "GET /local/mailbox": (
        MailboxEndpoint.list_messages,
        Operation(
            results(
                array(obj(*(n.removesuffix("_") for n in _ENTRY), **_ENTRY, **_DETAILS)),
                counts=_COUNTS,
                leaves_by=_LEAVES_BY,
                links=obj(next=text()),
            ),
            parameters=_LIST,
            refusals=(400,),
        ),
    ),
    "POST /local/mailbox": (
        MailboxImport.add,
        Operation(
            content("application/json", record(results=record(ids=array(text()))), status=201),
            parameters=_IMPORT,
            media={"message/rfc822": text()},
            refusals=(400, 413),
            finds_all=True,
        ),
    ),
    "PUT /local/mailbox": (
        MailboxEndpoint.flag_all,
        Operation(results(_COUNTS), parameters=_FILTERS, body=_UNREAD, refusals=(400,)),
    ),
    "DELETE /local/mailbox": (
        MailboxEndpoint.delete_all,
        Operation(_DELETED, parameters=_FILTERS, refusals=(400,)),
    ),
    "GET /local/mailbox/{id}": (
        MailboxEndpoint.show_source,
        Operation(content("message/rfc822", text())),
    ),
    "PUT /local/mailbox/{id}": (
        MailboxEndpoint.flag,
        Operation(results(record(id=text(), unread=flag())), body=_UNREAD, refusals=(400,)),
    ),
    "DELETE /local/mailbox/{id}": (MailboxEndpoint.delete, Operation(_DELETED)),
    "GET /local/mailbox/{id}/content": (
        MailboxEndpoint.show_content,
        Operation(results(_CONTENT)),
    ),
    "GET /local/mailbox/{id}/html": (
        MailboxEndpoint.show_html,
        Operation(_HTML, parameters=_IMAGES),
    ),
    "GET /local/mailbox/{id}/amp": (
        MailboxEndpoint.show_amp,
        Operation(_HTML, parameters=_IMAGES),
    ),
    "GET /local/mailbox/{id}/parts/{part}": (
        MailboxEndpoint.show_part,
        Operation(content("application/octet-stream", text())),
    ),
    "GET /local/mailbox/{id}/links": (MessageEndpoint.list_links, Operation(results(array(_LINK)))),
    "GET /local/mailbox/{id}/checks": (MessageEndpoint.check, Operation(results(array(_CHECK)))),
    "GET /local/mailbox/{id}/features": (
        MessageEndpoint.list_features,
        Operation(results(array(_FEATURE))),
    ),
    "POST /local/mailbox/{id}/actions": (
        MessageEndpoint.act,
        Operation(results(_STEPS), body=_ACTION, refusals=(400, 409, 502)),
    ),
    "GET /local/inboxes": (
        MailboxEndpoint.list_inboxes,
        Operation(results(array(record(name=text(), messages=integer(), unread=integer())))),
    ),
    "GET /local/stream": (
        LiveStream.stream,
        Operation(
            content("text/event-stream", text(), about="Events until either side ends it"),
            refusals=(503,),
        ),
    ),
    "GET /local/metrics": (
        MetricsEndpoint.show,
        Operation(content("text/plain", text(), about="The figures in Prometheus's text format")),
    ),
    "GET /local/dns": (DnsEndpoint.list_records, Operation(results(array(_ANSWER)))),
    "GET /local/dns/{name}": (
        DnsEndpoint.show_records,
        Operation(results(_ANSWER), refusals=(400,)),
    ),
    "PUT /local/dns/{name}": (
        DnsEndpoint.put_records,
        Operation(results(_ANSWER), body=obj("records", records=_RECORDS), refusals=(400,)),
    ),
    "DELETE /local/dns/{name}": (
        DnsEndpoint.delete_records,
        Operation(results(record(name=text())), refusals=(400,)),
    ),
    "GET /local/delivery": (
        DeliveryEndpoint.show,
        Operation(results(record(leaves_by=_LEAVES_BY, warning=nullable(text())))),
    ),
    "GET /local/delivery/smarthost": (
        DeliveryEndpoint.check,
        Operation(results(nullable(_FINDING))),
    ),
    "POST /local/sign-in": (
        SignInEndpoint.sign_in,
        Operation(
            results(record(csrf_token=text(about="What `X-CSRF-Token` must have with changes"))),
            parameters=(_KEY,),
            refusals=(401, 409),
        ),
    ),
    "GET /local/failures": (FailuresEndpoint.list_rules, Operation(results(array(_RULE)))),
    "POST /local/failures": (
        FailuresEndpoint.add,
        Operation(
            content("application/json", record(results=_RULE), status=201),
            body=of_model(RuleBody),
            refusals=(400, 409),
        ),
    ),
    "DELETE /local/failures": (FailuresEndpoint.delete_all, Operation(_DELETED)),
    "GET /local/failures/{id}": (FailuresEndpoint.show, Operation(results(_RULE))),
    "PUT /local/failures/{id}": (
        FailuresEndpoint.change,
        Operation(results(_RULE), body=of_model(RuleBody), refusals=(400,)),
    ),
    "DELETE /local/failures/{id}": (FailuresEndpoint.delete, Operation(_DELETED)),
    "GET /local/webhooks": (WebhooksEndpoint.list_receivers, Operation(results(array(_RECEIVER)))),
    "POST /local/webhooks/{name}": (
        WebhooksEndpoint.receive,
        Operation(
            results(record(id=integer())),
            media={"application/json": mapping()},
            refusals=(400, 409, 413),
            finds_all=True,
        ),
    ),
    "GET /local/webhooks/{name}": (
        WebhooksEndpoint.show,
        Operation(results(_RECEIVER), refusals=(400,)),
    ),
    "PUT /local/webhooks/{name}": (
        WebhooksEndpoint.change,
        Operation(
            results(_RECEIVER), body=of_model(ReceiverBody), refusals=(400, 409), finds_all=True
        ),
    ),
    "DELETE /local/webhooks/{name}": (
        WebhooksEndpoint.delete,
        Operation(_DELETED, refusals=(400,)),
    ),
    "GET /local/webhooks/{name}/requests": (
        WebhooksEndpoint.list_requests,
        Operation(
            results(array(record(**_REQUEST))),
            parameters=(query("limit", integer(0, MOST_REQUESTS), "Most requests"),),
            refusals=(400,),
        ),
    ),
    "DELETE /local/webhooks/{name}/requests": (
        WebhooksEndpoint.clear,
        Operation(_DELETED, refusals=(400,)),
    ),
    "GET /local/webhooks/{name}/requests/{id}": (
        WebhooksEndpoint.show_request,
        Operation(
            results(record(**_REQUEST, headers=_HEADERS, body=text())),
            refusals=(400,),
        ),
    ),
}
