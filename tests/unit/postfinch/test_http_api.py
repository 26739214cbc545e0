"""Calls of the API, and content that is at another address."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from postfinch.http_api import Api, ApiError


class _Bucket(BaseHTTPRequestHandler):
    keys: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        self.keys.append(self.headers.get("Authorization"))
        self.send_response({"/api/v1/large": 302, "/signed": 200}.get(self.path, 404))
        self.send_header("Location", "/signed")
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"large")

    def log_message(self, *_: Any) -> None:
        """Write no log lines."""


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Bucket)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_large_content_is_fetched_where_the_answer_leads_without_the_key(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Bucket, "keys", [])
    assert Api(url, "secret").content("/large") == b"large"
    assert _Bucket.keys == ["secret", None]
    with pytest.raises(ApiError):
        Api(url, "secret").content("/other")
