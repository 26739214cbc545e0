"""Run the HTTP server of the local runtime: ``python -m infrastructure.local.gateway``.

It serves on ``API_PORT`` of ``API_HOST`` (loopback by default), and under TLS on ``API_TLS_PORT``.
In a container it also serves, on loopback, the port at which ``PUBLIC_URL`` names this machine: the
port is mapped outside only, and links, images and webhooks of that URL are followed inside too.
There is

- the whole application, through the same gateway events as on AWS
- ``GET /``, which leads to the console
- ``/local``: what only a local runtime has, such as the mailbox and the local DNS

The paths under ``/local`` need no key, but for signing in. Mail readers are served beside it, on
``POP3_PORT`` and ``IMAP_PORT``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn

from app import app
from chalicelib.core import aws
from chalicelib.core.settings import settings, settings_at_start
from infrastructure.local import certificates
from infrastructure.local.catching.choices import CatchChoices
from infrastructure.local.dns.records import ServiceRecords
from infrastructure.local.dns.zone import LocalZone
from infrastructure.local.figures import RequestCounts
from infrastructure.local.gateway import description_endpoint, local_api
from infrastructure.local.gateway.activity import Activity
from infrastructure.local.gateway.application import FurtherPort, Gateway, server
from infrastructure.local.gateway.checks_endpoint import ChecksEndpoint
from infrastructure.local.gateway.delivery_endpoint import DeliveryEndpoint
from infrastructure.local.gateway.dns_endpoint import DnsEndpoint
from infrastructure.local.gateway.failures_endpoint import FailuresEndpoint
from infrastructure.local.gateway.live_feed import LiveFeed
from infrastructure.local.gateway.live_stream import LiveStream
from infrastructure.local.gateway.local_api import LocalApi
from infrastructure.local.gateway.mailbox_companions import mailbox_companions, mailpit_endpoint
from infrastructure.local.gateway.mailbox_endpoint import MailboxEndpoint
from infrastructure.local.gateway.mailbox_import import MailboxImport
from infrastructure.local.gateway.mailbox_news import MailboxNews
from infrastructure.local.gateway.message_endpoint import MessageEndpoint
from infrastructure.local.gateway.metrics_endpoint import MetricsEndpoint
from infrastructure.local.gateway.sign_in_endpoint import SignInEndpoint
from infrastructure.local.gateway.webhook_store import WebhookStore
from infrastructure.local.gateway.webhooks_endpoint import WebhooksEndpoint
from infrastructure.local.live_events import EventReceiver
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.tags import TagChoices
from infrastructure.local.messages.details import Detailer
from infrastructure.local.sink.failure_rules import FILE, FailureRules
from infrastructure.local.sink.local_names import asking
from infrastructure.local.sink.mail_client import MailClient
from infrastructure.local.sink.recipient import Recipient
from infrastructure.local.supervisor.listeners import listening_sockets
from infrastructure.local.supervisor.ports import InternalPorts
from infrastructure.local.this_machine import NOBODY_ELSE, LocalAccess, is_this_machine


def main() -> None:
    """Serve until SIGTERM."""
    current = settings_at_start("geoip_database")
    aws.make_clients()
    data_dir = Path(os.environ["DATA_DIR"])
    access = LocalAccess.read(os.environ)
    http_server: uvicorn.Server
    requests, activity = RequestCounts(), Activity()
    detailer = Detailer(SinkMailbox(data_dir / "mail"))
    mailpit = mailpit_endpoint(
        os.environ,
        current,
        detailer,
        lambda scope, receive, send: gateway.serve_http(scope, receive, send),
        access,
    )
    mailpit_port = int(os.environ.get("MAILPIT_PORT") or "0")
    gateway = Gateway(
        app,
        max_body_bytes=current.max_body_bytes,
        home="console/" if current.console else "",
        # A stream has no end of its own, which the server would wait for
        extra={
            local_api.PREFIX: local_endpoints(
                data_dir, requests, lambda: http_server.should_exit, access, detailer
            )
        },
        access=access,
        count=requests.add,
        activity=activity,
        by_port={mailpit_port: mailpit} if mailpit_port else {},
        companions=[
            # Its rules for tags and its webhook work without its port, too
            mailpit,
            *mailbox_companions(os.environ, detailer, activity, access),
        ],
    )
    http_server = server(
        gateway,
        host=_host(os.environ),
        port=int(os.environ["API_PORT"]),
        further=list(further_ports(os.environ, current.public_url, access)),
    )
    http_server.run()


def further_ports(
    environ: Mapping[str, str], public_url: str, access: LocalAccess
) -> Iterator[FurtherPort]:
    """Yield the ports to serve besides ``API_PORT``."""
    data_dir = Path(environ["DATA_DIR"])
    tls_port = int(environ.get("API_TLS_PORT", "0"))
    if tls_port:
        yield FurtherPort(_host(environ), tls_port, certificates.server_context(data_dir))
    if mailpit_port := int(environ.get("MAILPIT_PORT") or "0"):
        sockets = listening_sockets(environ, "MAILPIT_PORT")
        yield FurtherPort(_host(environ), mailpit_port, sockets=sockets, websockets=True)
    url = urlsplit(public_url)
    host, is_secure = url.netloc.encode(), url.scheme == "https"
    port = url.port or (443 if is_secure else 80)
    is_here = is_this_machine(host) or access.admits_host(host)
    # Without networks of others this is no container, and the port may be that of a proxy
    if (
        access.networks
        and is_here
        and port
        not in (
            int(environ["API_PORT"]),
            tls_port,
            mailpit_port,
        )
    ):
        context = certificates.server_context(data_dir) if is_secure else None
        yield FurtherPort("127.0.0.1", port, context, optional=True)


def _host(environ: Mapping[str, str]) -> str:
    return environ.get("API_HOST", "127.0.0.1")


def local_endpoints(
    data_dir: Path,
    requests: RequestCounts,
    is_stopping: Callable[[], bool],
    access: LocalAccess = NOBODY_ELSE,
    detailer: Detailer | None = None,
) -> LocalApi:
    """Return the operations of ``/local`` over the files of a data directory."""
    detailer = detailer or Detailer(SinkMailbox(data_dir / "mail"))
    mailbox = detailer.mailbox
    delivery = DeliveryEndpoint(settings(), InternalPorts.read(data_dir).sink)
    endpoint = MailboxEndpoint(mailbox, detailer, delivery.way_out)
    feed = LiveFeed()
    events = EventReceiver(
        data_dir, lambda event: feed.publish("event" if event else "gap", event or {})
    )
    news = MailboxNews(mailbox, endpoint)
    return LocalApi(
        [
            *endpoint.routes(),
            *MailboxImport(
                mailbox,
                CatchChoices.read(os.environ).inbox_by,
                TagChoices.read(os.environ),
            ).routes(),
            *delivery.routes(),
            *MessageEndpoint(mailbox, _recipient(data_dir, access)).routes(),
            *ChecksEndpoint(mailbox, os.environ, settings().spam_check).routes(),
            *LiveStream(feed, news, events, is_stopping=is_stopping).routes(),
            *FailuresEndpoint(FailureRules(data_dir / "mail" / FILE)).routes(),
            *WebhooksEndpoint(WebhookStore(data_dir / "webhooks.sqlite3"), feed.publish).routes(),
            *description_endpoint.routes(),
            *MetricsEndpoint(requests, mailbox).routes(),
            *DnsEndpoint(LocalZone(data_dir / "dns"), ServiceRecords()).routes(),
            *SignInEndpoint(os.environ.get("API_KEY", "")).routes(),
        ]
    )


def _recipient(data_dir: Path, access: LocalAccess) -> Recipient:
    ports = InternalPorts.read(data_dir)
    mail_client = MailClient(asking(("127.0.0.1", ports.dns)), access.names)
    return Recipient(("127.0.0.1", ports.inbound), mail_client)


if __name__ == "__main__":
    main()
