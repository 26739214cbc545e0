"""Provide the service in a local cloud, for benchmarks that call its functions themselves.

Mail goes to a host that accepts everything, and webhooks to a target that takes everything.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from aiosmtpd.controller import Controller

from chalicelib.api_keys import model as keys
from chalicelib.core.json_types import Json
from chalicelib.core.settings import settings
from infrastructure.bootstrap import first_start
from tests.bench.local_cloud import local_cloud
from tests.free_ports import free_port
from tests.http_target import serving


class CloudService(NamedTuple):
    """The key of account 1, and the URL of a webhook's target."""

    key: str
    target: str

    def webhook(self) -> Json:
        """Return the body of a webhook that gets the events of sending."""
        return {"name": "All", "target": self.target, "events": ["injection", "delivery"]}


class NullHost:
    """A mail host that accepts every message and stores none."""

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        """Accept the message."""
        return "250 OK"


@contextmanager
def cloud_service() -> Iterator[CloudService]:
    """Set the service up for its first start, within the block."""
    sink = Controller(NullHost(), hostname="127.0.0.1", port=free_port(), data_size_limit=1 << 26)
    sink.start()
    with local_cloud(), serving() as target:
        os.environ |= {
            "SMARTHOST": f"127.0.0.1:{sink.port}",
            "SMARTHOST_TLS": "off",
            "WEBHOOK_START": "0",
            "WEBHOOK_ANY_PORT": "true",
            "ALLOW_PRIVATE_ADDRESSES": "true",
        }
        settings.cache_clear()
        key = keys.draw_key()
        first_start(key)
        yield CloudService(key, target.url)
    sink.stop()


def api_event(key: str, path: str, body: bytes) -> Json:
    """Return the event with which API Gateway passes a POST request."""
    return {
        "path": path,
        "headers": {"Authorization": key, "Content-Type": "application/json"},
        "requestContext": {
            "resourcePath": "/{proxy+}",
            "httpMethod": "POST",
            "requestId": "r",
            "identity": {"sourceIp": "192.0.2.1"},
        },
        "body": base64.b64encode(body).decode(),
        "isBase64Encoded": True,
    }
