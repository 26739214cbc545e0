"""Run the HTTP server of the local runtime: ``python -m infrastructure.local.gateway``.

It serves on ``API_PORT`` of ``API_HOST`` (loopback by default), and under TLS on ``API_TLS_PORT``:

- the whole application, through the same gateway events as on AWS
- ``GET /``, which leads to the console
- ``/local``: what only a local runtime has, such as the mailbox and the local DNS

The paths under ``/local`` need no key.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import uvicorn

from app import app
from chalicelib.core import aws
from chalicelib.core.settings import settings
from infrastructure.local import certificates
from infrastructure.local.dns.records import ServiceRecords
from infrastructure.local.dns.zone import LocalZone
from infrastructure.local.gateway import description_endpoint, local_api
from infrastructure.local.gateway.application import Gateway, TlsPort, server
from infrastructure.local.gateway.dns_endpoint import DnsEndpoint
from infrastructure.local.gateway.failures_endpoint import FailuresEndpoint
from infrastructure.local.gateway.live_feed import LiveFeed
from infrastructure.local.gateway.live_stream import LiveStream
from infrastructure.local.gateway.local_api import LocalApi
from infrastructure.local.gateway.mailbox_endpoint import MailboxEndpoint
from infrastructure.local.gateway.mailbox_news import MailboxNews
from infrastructure.local.gateway.message_endpoint import MessageEndpoint
from infrastructure.local.gateway.webhook_store import WebhookStore
from infrastructure.local.gateway.webhooks_endpoint import WebhooksEndpoint
from infrastructure.local.live_events import EventReceiver
from infrastructure.local.messages.details import Detailer
from infrastructure.local.sink.failure_rules import FILE, FailureRules
from infrastructure.local.sink.local_names import asking
from infrastructure.local.sink.mail_client import MailClient
from infrastructure.local.sink.mailbox import Mailbox
from infrastructure.local.sink.recipient import Recipient
from infrastructure.local.supervisor.environment import InternalPorts


def main() -> None:
    """Serve until SIGTERM."""
    aws.make_clients()
    data_dir = Path(os.environ["DATA_DIR"])
    http_server: uvicorn.Server
    gateway = Gateway(
        app,
        max_body_bytes=settings().max_body_bytes,
        home="console/" if settings().console else "",
        # A stream has no end of its own, which the server would wait for
        extra={local_api.PREFIX: local_endpoints(data_dir, lambda: http_server.should_exit)},
    )
    host, port = os.environ.get("API_HOST", "127.0.0.1"), int(os.environ["API_PORT"])
    http_server = server(gateway, host=host, port=port, tls=_tls_port(data_dir))
    http_server.run()


def _tls_port(data_dir: Path) -> TlsPort | None:
    port = int(os.environ.get("API_TLS_PORT", "0"))
    return TlsPort(port, certificates.server_context(data_dir)) if port else None


def local_endpoints(data_dir: Path, is_stopping: Callable[[], bool]) -> LocalApi:
    """Return the operations of ``/local`` over the files of a data directory."""
    mailbox = Mailbox(data_dir / "mail")
    endpoint = MailboxEndpoint(mailbox, Detailer(mailbox))
    feed = LiveFeed()
    events = EventReceiver(
        data_dir, lambda event: feed.publish("event" if event else "gap", event or {})
    )
    news = MailboxNews(mailbox, endpoint)
    return LocalApi(
        [
            *endpoint.routes(),
            *MessageEndpoint(mailbox, _recipient(data_dir)).routes(),
            *LiveStream(feed, news, events, is_stopping=is_stopping).routes(),
            *FailuresEndpoint(FailureRules(data_dir / "mail" / FILE)).routes(),
            *WebhooksEndpoint(WebhookStore(data_dir / "webhooks.sqlite3"), feed.publish).routes(),
            *description_endpoint.routes(),
            *DnsEndpoint(LocalZone(data_dir / "dns"), ServiceRecords()).routes(),
        ]
    )


def _recipient(data_dir: Path) -> Recipient:
    ports = InternalPorts.read(data_dir)
    return Recipient(("127.0.0.1", ports.inbound), MailClient(asking(("127.0.0.1", ports.dns))))


if __name__ == "__main__":
    main()
