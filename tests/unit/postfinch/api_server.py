"""Serve the API of the application in this process, for commands that call it over HTTP."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from typer.testing import CliRunner

from app import app as service
from postfinch.commands import app
from tests.unit.core.gateway_events import event

_ONE_AT_A_TIME = threading.Lock()


class _Handler(BaseHTTPRequestHandler):
    def answer(self) -> None:
        parts = urlsplit(self.path)
        query: dict[str, list[str]] = {}
        for name, text in parse_qsl(parts.query, keep_blank_values=True):
            query.setdefault(name, []).append(text)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = event(
            service,
            self.command,
            unquote(parts.path),
            query=query,
            headers=dict(self.headers.items()),
            body=body,
        )
        with _ONE_AT_A_TIME:
            response = service(request, None)
        data = response["body"].encode()
        if response["isBase64Encoded"]:
            data = base64.b64decode(data)
        self.send_response(response["statusCode"])
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_: Any) -> None:
        """Write no log lines."""


@contextmanager
def api_server() -> Iterator[str]:
    """Serve the API on a free port of loopback; the result is its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def run(*arguments: object, code: int = 0, answer: str | None = None) -> str:
    """Run the command, check its exit code, and return what it writes to both streams."""
    result = CliRunner().invoke(app, [str(each) for each in arguments], input=answer)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output
