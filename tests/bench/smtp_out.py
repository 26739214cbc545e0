"""Compare the smarthost transport with smtplib: one connection, one message after another.

    python -m tests.bench smtp_out

The sink runs in a separate process, reads as fast as it can and stores nothing. Both clients
reuse their connection. The second figure is messages per CPU second of the client, which does not
depend on the sink's speed.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import smtplib
import ssl
import time
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from typing import cast

import uvloop

from chalicelib.delivery.transports import OutboundMessage, commit_at_once
from chalicelib.delivery.transports.smarthost import SmarthostTransport
from chalicelib.delivery.transports.smtp_opening import SessionOptions, TlsMode
from tests.unit.delivery.scripted_server import certificate

SECONDS = 1.0
_LINE = b"Some words of a message, as they are in the lines of most.\r\n"
SIZES = {"transactional": 25, "newsletter": 500}
_HELLO = b"250-sink\r\n250-PIPELINING\r\n250-STARTTLS\r\n250 8BITMIME\r\n"
_REPLIES = {
    b"EHLO": _HELLO,
    b"STAR": b"220 go\r\n",
    b"DATA": b"354 go\r\n",
    b"QUIT": b"221 bye\r\n",
}

Send = Callable[[OutboundMessage], object]


class Sink(asyncio.Protocol):
    """A host that accepts everything, and sends the replies to pipelined commands together."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._in_content = False
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet, unless the connection has only switched to TLS."""
        self._transport = cast(asyncio.Transport, transport)
        if transport.get_extra_info("sslcontext") is None:
            self._transport.write(b"220 sink\r\n")

    def data_received(self, data: bytes) -> None:
        """Reply to every command, and to every end of a message."""
        replies = b""
        while data:
            if self._in_content:
                tail, data = self._buffer + data, b""
                self._buffer = tail[-4:]
                if tail.endswith(b"\r\n.\r\n"):
                    self._in_content, self._buffer = False, b""
                    replies += b"250 taken\r\n"
                continue
            line, _, data = data.partition(b"\r\n")
            verb = line[:4].upper()
            replies += _REPLIES.get(verb, b"250 ok\r\n")
            self._in_content = verb == b"DATA"
            if verb == b"STAR":
                asyncio.ensure_future(self._encrypt())  # noqa: RUF006
        self._transport.write(replies)

    async def _encrypt(self) -> None:
        loop = asyncio.get_running_loop()
        secured = await loop.start_tls(self._transport, self, self._context, server_side=True)
        self._transport = cast(asyncio.Transport, secured)


def _run_sink(ready: Pipe) -> None:
    async def main() -> None:
        context = certificate()[0]
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: Sink(context), "127.0.0.1", 0)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(main())


def _measure(send: Send, lines: int) -> tuple[float, float]:
    """Return messages per second, and messages per CPU second."""
    data = b"Subject: bench\r\n\r\n" + _LINE * lines
    message = OutboundMessage("a@example.test", "b@example.test", data)
    send(message)
    message_count, started, used = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - started < SECONDS:
        send(message)
        message_count += 1
    return message_count / (time.perf_counter() - started), message_count / (
        time.process_time() - used
    )


def _ours(port: int, tls: bool) -> tuple[Send, Callable[[], object]]:
    options = SessionOptions(tls=TlsMode.REQUIRED if tls else TlsMode.OFF)
    transport = SmarthostTransport("127.0.0.1", port, options, ehlo_name="bench.test")
    return lambda message: transport.deliver(message, commit_at_once), transport.close


def _smtplib(port: int, tls: bool) -> tuple[Send, Callable[[], object]]:
    client = smtplib.SMTP("127.0.0.1", port, local_hostname="bench.test")
    if tls:
        client.starttls(context=ssl._create_unverified_context())

    def send(message: OutboundMessage) -> None:
        client.sendmail(message.sender, [message.recipient], message.data)

    return send, client.quit


def main() -> None:
    """Print a table of both clients, without and with TLS."""
    ours, theirs = multiprocessing.Pipe()
    sink = multiprocessing.get_context("spawn").Process(
        target=_run_sink, args=(theirs,), daemon=True
    )
    sink.start()
    port = ours.recv()
    print(f"{'':15}{'':8}{'client':>10}{'messages/s':>14}{'per CPU second':>18}")
    for tls in (False, True):
        for kind, lines in SIZES.items():
            for name, connect in (("smtplib", _smtplib), ("ours", _ours)):
                send, close = connect(port, tls)
                rate, per_cpu = _measure(send, lines)
                close()
                how = "TLS" if tls else "clear"
                print(f"{kind:15}{how:8}{name:>10}{rate:14,.0f}{per_cpu:18,.0f}", flush=True)
    sink.terminate()
    sink.join()


if __name__ == "__main__":
    main()
