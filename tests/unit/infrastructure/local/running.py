"""Run real servers for tests of the local runtime: a sink in a thread, and a web server."""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar

from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.sink.server import Sink, SinkOptions

# Longer than anything takes on a busy machine: only what never happens fails
DEADLINE_SECONDS = 120.0
T = TypeVar("T")


@dataclass
class RunningSink:
    """A sink that listens on `port` and stores to `mailbox`."""

    mailbox: SinkMailbox
    port: int
    loop: asyncio.AbstractEventLoop
    sink: Sink

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self.sink.stop(), self.loop).result(DEADLINE_SECONDS)


@contextmanager
def running_sink(root: Path, options: SinkOptions | None = None) -> Iterator[RunningSink]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    mailbox = SinkMailbox(root)
    sink = Sink(mailbox, options)
    port = asyncio.run_coroutine_threadsafe(sink.start(), loop).result(DEADLINE_SECONDS)
    running = RunningSink(mailbox, port, loop, sink)
    try:
        yield running
    finally:
        running.stop()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        mailbox.close()


@dataclass
class Request:
    method: str
    path: str
    host: str
    user_agent: str
    body: str


class Web:
    """A web server on loopback that records every request and redirects it."""

    def __init__(self) -> None:
        self.requests: queue.Queue[Request] = queue.Queue()
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                agent, host = self.headers["User-Agent"], self.headers["Host"]
                requests.put(Request(self.command, self.path, host, agent, body))
                self.send_response(302)
                self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/next")  # type: ignore[attr-defined]
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_GET

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))

    def next_request(self) -> Request:
        return self.requests.get(timeout=DEADLINE_SECONDS)


@contextmanager
def running_web() -> Iterator[Web]:
    web = Web()
    web.thread.start()
    yield web
    web.server.shutdown()
    web.server.server_close()
    web.thread.join()


def eventually(condition: Callable[[], T]) -> T:
    """Call ``condition`` until its result is true and return that; fail at the deadline."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    pause = threading.Event()
    while not (result := condition()):
        assert time.monotonic() < deadline, "it never happened"
        pause.wait(0.01)
    return result
