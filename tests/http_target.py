"""Run a small HTTP server for webhooks, which keeps the posts and sends configured replies."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Post:
    """A received request; header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def batch_id(self) -> str:
        """The id of the batch."""
        return self.headers["x-svc-batch-id"]

    def events(self) -> list[dict[str, Any]]:
        """The events of a batch, without their wrappers; none of a ping."""
        return [event for each in self.json for event in each["svc"].values()]


@dataclass(frozen=True, slots=True)
class Reply:
    """A response; with ``never_sent`` the client waits until the server stops."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    never_sent: bool = False


OK = Reply()


class Target:
    """A running server with the posts that it received; ``answer`` returns the reply to a post."""

    def __init__(self, port: int, scheme: str, stopped: threading.Event) -> None:
        self.port = port
        self.url = f"{scheme}://127.0.0.1:{port}/hook"
        self.posts: list[Post] = []
        self.answer: Callable[[Post], Reply] = lambda _: OK
        self.stopped = stopped

    def batches(self) -> list[Post]:
        """Return the posts, without pings."""
        return [post for post in self.posts if post.body != b'[{"svc":{}}]']

    def event_ids(self) -> set[str]:
        """Return the ids of all events that were posted."""
        return {event["event_id"] for post in self.batches() for event in post.events()}


class _Handler(BaseHTTPRequestHandler):
    target: ClassVar[Target]

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        headers = {name.lower(): text for name, text in self.headers.items()}
        post = Post(self.path, headers, self.rfile.read(length))
        reply = self.target.answer(post)
        self.target.posts.append(post)
        if reply.never_sent:
            self.target.stopped.wait(30)
            return
        self.send_response(reply.status)
        for name, text in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: Any) -> None:
        """Write no log lines."""


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Target]:
    """Serve a target on a free port of loopback, over TLS if a ``context`` is given."""
    stopped = threading.Event()
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    target = Target(server.server_port, "https" if context else "http", stopped)
    handler.target = target
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield target
    finally:
        stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()
