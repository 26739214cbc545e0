"""Take the POSTs of webhooks on a port of the test's own process."""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")


class PostTarget:
    """A server at ``url`` that hands headers (names in lower case) and body to ``receive``.

    It answers with status 200 after that.
    """

    def __init__(self, receive: Callable[[Mapping[str, str], bytes], None]) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(receive))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()


def is_signed(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Tell whether a POST is signed with the secret (standardwebhooks.com)."""
    batch_id, timestamp, signatures = (headers.get(name, "") for name in _HEADERS)
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = b".".join([batch_id.encode(), timestamp.encode(), body])
    expected = "v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
    return any(hmac.compare_digest(expected, each) for each in signatures.split())


def _handler(
    receive: Callable[[Mapping[str, str], bytes], None],
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Takes what the service posts."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receive({name.lower(): value for name, value in self.headers.items()}, body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Write nothing: a test's output is its own."""

    return Handler
