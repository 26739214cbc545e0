"""Serve DNS on UDP and TCP of one port, with dnslib's servers.

The answers come from a `RecordSource` (see `resolver`). A packet that is not a query is dropped.
"""

import socket
import struct
import threading
from collections.abc import Iterator

from dnslib import DNSError, DNSRecord
from dnslib.server import DNSHandler, DNSLogger, TCPServer, UDPServer

from infrastructure.local.dns.resolver import RecordSource, SourceResolver

TCP_IDLE_SECONDS = 10.0
_POLL_SECONDS = 0.05


class QueryHandler(DNSHandler):
    """dnslib's handler for packets from anywhere, and for several queries on a TCP connection."""

    def handle(self) -> None:
        """Answer one UDP packet, or the queries of one TCP connection."""
        if self.server.socket_type == socket.SOCK_DGRAM:
            super().handle()
            return
        self.protocol = "tcp"
        self.request.settimeout(TCP_IDLE_SECONDS)
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for packet in _packets(self.request):
                response = self.get_reply(packet)
                self.request.sendall(struct.pack(">H", len(response)) + response)
        except (OSError, DNSError):
            pass  # the client was silent for too long, left, or sent something that is no query

    def get_reply(self, data: bytes) -> bytes:
        """Return the packed reply; raises DNSError for a packet that must be dropped."""
        try:
            request = DNSRecord.parse(data)
        except Exception as error:  # dnslib lets several kinds of error through
            raise DNSError("not a DNS packet") from error
        if request.header.qr:  # two servers that answer responses would answer each other for ever
            raise DNSError("not a query")
        return bytes(self.server.resolver.resolve(request, self).pack())


class DnsServer:
    """Serves a source from background threads between `start` and `stop`."""

    def __init__(self, host: str, port: int, source: RecordSource) -> None:
        """Port 0 binds any port that is free for both UDP and TCP; `port` tells which."""
        self._servers = _bind(host, port, SourceResolver(source))
        self.host = host
        self.port: int = self._servers[0].server_address[1]
        self._threads = [
            threading.Thread(target=server.serve_forever, args=(_POLL_SECONDS,), daemon=True)
            for server in self._servers
        ]

    def start(self) -> None:
        """Begin to answer."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop answering and free the port."""
        for server, thread in zip(self._servers, self._threads, strict=True):
            if thread.is_alive():
                server.shutdown()
                thread.join()
            server.server_close()


class _ExclusiveUDPServer(UDPServer):
    """dnslib's UDP server on a port of its own: it would share the port with another server."""

    def server_bind(self) -> None:
        """Bind without SO_REUSEADDR."""
        self.allow_reuse_address = False
        super().server_bind()


def _bind(host: str, port: int, resolver: SourceResolver) -> tuple[UDPServer, TCPServer]:
    attempts = 1 if port else 20
    for attempt in range(attempts):
        udp = _ExclusiveUDPServer((host, port), QueryHandler)
        try:
            tcp = TCPServer((host, udp.server_address[1]), QueryHandler)
        except OSError:  # another process has that port for TCP
            udp.server_close()
            if attempt == attempts - 1:
                raise
            continue
        for server in (udp, tcp):
            server.resolver = resolver
            server.logger = DNSLogger("-request,-reply,-truncated,-error")
        return udp, tcp
    raise AssertionError("unreachable")


def _packets(connection: socket.socket) -> Iterator[bytes]:
    """The queries of one TCP connection, each after its length (RFC 1035 4.2.2)."""
    with connection.makefile("rb") as stream:
        while len(length := stream.read(2)) == 2:
            yield stream.read(int.from_bytes(length))
