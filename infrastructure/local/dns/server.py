"""A small DNS server for the names of the local runtime, on UDP and TCP of one port.

What it says comes from a `RecordSource`. It is asked about names under `.test` only; every other
name does not exist (NXDOMAIN), so no query ever leaves the machine. CNAMEs are followed within the
source. A source that fails gives SERVFAIL; a packet that is no query is dropped.
"""

import ipaddress
import logging
import socketserver
import struct
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from dnslib import AAAA, CNAME, EDNS0, MX, NS, OPCODE, QTYPE, RCODE, RR, TXT, A, DNSRecord

ZONE = "test"
TTL_SECONDS = 1  # a record changed in the service is seen at once
PLAIN_UDP_SIZE = 512  # RFC 1035 4.2.1
MAX_UDP_SIZE = 1232  # the payload size agreed on for DNS Flag Day 2020
MAX_CHAIN = 8
TCP_IDLE_SECONDS = 10.0

log = logging.getLogger(__name__)

Records = Sequence[tuple[str, str]]


class RecordSource(Protocol):
    """Where records come from. Called from several threads."""

    def lookup(self, name: str) -> Records | None:
        """Every (type, value) at a lower-case name without its final dot; None if no such name.

        Values are written as in a zone file but unquoted: A "127.0.0.1", MX "10 mail.a.test",
        CNAME "b.test", TXT the whole text, of any length.
        """


class DnsServer:
    """Serves a source from background threads between `start` and `stop`."""

    def __init__(self, host: str, port: int, source: RecordSource) -> None:
        """Port 0 binds any port that is free for both UDP and TCP; `port` tells which."""
        self._udp, self._tcp = _bind(host, port, source)
        self.host = host
        self.port: int = self._udp.server_address[1]
        self._threads = [
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
            for server in (self._udp, self._tcp)
        ]

    def start(self) -> None:
        """Begin to answer."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop answering and free the port."""
        for server, thread in zip((self._udp, self._tcp), self._threads, strict=True):
            if thread.is_alive():
                server.shutdown()
                thread.join()
            server.server_close()


def answer(packet: bytes, source: RecordSource, udp: bool) -> bytes | None:
    """The response to a packet; None when it is not a query and must be dropped."""
    try:
        query = DNSRecord.parse(packet)
    except Exception:  # dnslib lets several kinds of error through for a hostile packet
        return None
    if query.header.qr:  # a response: answering those could go round for ever
        return None
    try:
        return _packed(query, _resolve(query, source), udp)
    except Exception:
        log.exception("looking up %s failed", query.q.qname)
        return _packed(query, _failure(query, RCODE.SERVFAIL), udp)


def _packed(query: Any, reply: Any, udp: bool) -> bytes:
    offered = _offered_size(query)
    if offered is not None:
        reply.add_ar(EDNS0(udp_len=MAX_UDP_SIZE))
    packed = bytes(reply.pack())
    if udp and len(packed) > min(max(offered or 0, PLAIN_UDP_SIZE), MAX_UDP_SIZE):
        reply.header.tc, reply.rr = 1, []
        packed = bytes(reply.pack())
    return packed


def _resolve(query: Any, source: RecordSource) -> Any:
    if query.header.opcode != OPCODE.QUERY:
        return _failure(query, RCODE.NOTIMP)
    if len(query.questions) != 1:
        return _failure(query, RCODE.FORMERR)
    records, exists = _chain(str(query.q.qname), QTYPE[query.q.qtype], source)
    reply = query.reply()
    reply.add_answer(*records)
    # The last name of a chain decides (RFC 6604).
    reply.header.rcode = RCODE.NOERROR if exists else RCODE.NXDOMAIN
    return reply


def _failure(query: Any, rcode: int) -> Any:
    reply = query.reply()
    reply.header.rcode = rcode
    return reply


def _chain(name: str, wanted: str, source: RecordSource) -> tuple[list[Any], bool]:
    """The records that answer, CNAMEs first, and whether the name they lead to exists."""
    answers: list[Any] = []
    for _ in range(MAX_CHAIN):
        found = _in_zone(name, source)
        if found is None:
            return answers, False
        matching = [record for record in found if wanted in (record[0], "ANY")]
        alias = next((record for record in found if record[0] == "CNAME"), None)
        if matching or alias is None:
            return answers + [_resource(name, *record) for record in matching], True
        answers.append(_resource(name, *alias))
        name = alias[1]
    raise ValueError(f"the CNAMEs from {name} have no end")


def _in_zone(name: str, source: RecordSource) -> Records | None:
    canonical = name.rstrip(".").lower()
    if canonical.rpartition(".")[2] != ZONE:
        return None
    return source.lookup(canonical)


def _resource(name: str, rtype: str, value: str) -> Any:
    return RR(name, getattr(QTYPE, rtype), rdata=_data(rtype, value), ttl=TTL_SECONDS)


def _data(rtype: str, value: str) -> Any:
    if rtype == "TXT":
        text = value.encode()
        return TXT([text[start : start + 255] for start in range(0, len(text), 255)] or [b""])
    if rtype == "MX":
        preference, host = value.split()
        return MX(host, int(preference))
    if rtype in ("A", "AAAA"):
        return {"A": A, "AAAA": AAAA}[rtype](str(ipaddress.ip_address(value)))
    return {"CNAME": CNAME, "NS": NS}[rtype](value)


def _offered_size(query: Any) -> int | None:
    """The UDP payload size of the query's EDNS record (RFC 6891); None when it has none."""
    return next((int(record.rclass) for record in query.ar if record.rtype == QTYPE.OPT), None)


class _Udp(socketserver.ThreadingUDPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], source: RecordSource) -> None:
        self.source = source
        super().__init__(address, _UdpHandler)


class _UdpHandler(socketserver.BaseRequestHandler):
    server: _Udp

    def handle(self) -> None:
        packet, from_socket = self.request
        if response := answer(packet, self.server.source, udp=True):
            from_socket.sendto(response, self.client_address)


class _Tcp(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], source: RecordSource) -> None:
        self.source = source
        super().__init__(address, _TcpHandler)


class _TcpHandler(socketserver.StreamRequestHandler):
    server: _Tcp
    timeout = TCP_IDLE_SECONDS
    disable_nagle_algorithm = True

    def handle(self) -> None:
        try:
            for packet in self._packets():
                response = answer(packet, self.server.source, udp=False)
                if response is None:
                    return
                self.wfile.write(struct.pack(">H", len(response)) + response)
        except OSError:
            pass  # the client was silent for too long, or left

    def _packets(self) -> Iterable[bytes]:
        """The queries of one connection, each after its length (RFC 1035 4.2.2)."""
        while len(length := self.rfile.read(2)) == 2:
            yield self.rfile.read(int.from_bytes(length))


def _bind(host: str, port: int, source: RecordSource) -> tuple[_Udp, _Tcp]:
    attempts = 1 if port else 20
    for attempt in range(attempts):
        udp = _Udp((host, port), source)
        try:
            return udp, _Tcp((host, udp.server_address[1]), source)
        except OSError:  # another process has that port for TCP
            udp.server_close()
            if attempt == attempts - 1:
                raise
    raise AssertionError("unreachable")
