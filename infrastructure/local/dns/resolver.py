"""Answer DNS queries from a source of records.

- A name that the source does not have does not exist (NXDOMAIN): no query ever leaves the machine.
- CNAMEs are followed within the source.
- What there is, and that there is nothing, may be kept for a second.
- A source that fails gives SERVFAIL.
"""

import ipaddress
import logging
from collections.abc import Sequence
from typing import Any, Protocol

from dnslib import AAAA, CNAME, EDNS0, MX, NS, OPCODE, PTR, QTYPE, RCODE, RR, SOA, TXT, A
from dnslib.server import BaseResolver

TTL_SECONDS = 1  # a record changed in the service is seen at once
PLAIN_UDP_SIZE = 512  # RFC 1035 4.2.1
MAX_UDP_SIZE = 1232  # the payload size agreed on for DNS Flag Day 2020
MAX_CHAIN = 8

log = logging.getLogger(__name__)

Records = Sequence[tuple[str, str]]


class RecordSource(Protocol):
    """A source of records. Called from several threads."""

    def lookup(self, name: str) -> Records | None:
        """Every (type, value) at a lower-case name without its final dot; None if no such name.

        Values are written as in a zone file but unquoted: A "127.0.0.1", MX "10 mail.a.test",
        CNAME "b.test", TXT the whole text, of any length.
        """


class SourceResolver(BaseResolver):
    """Answer a parsed query from a source, with the size limit of its transport."""

    def __init__(self, source: RecordSource) -> None:
        self._source = source

    def resolve(self, request: Any, handler: Any) -> Any:
        """Return the reply; a failing source or a record that cannot be packed gives SERVFAIL."""
        is_udp = handler.protocol == "udp"
        try:
            return _fit(request, _resolve(request, self._source), is_udp)
        except Exception:
            log.exception("looking up %s failed", request.q.qname)
            return _fit(request, _failure(request, RCODE.SERVFAIL), is_udp)


def _fit(query: Any, reply: Any, is_udp: bool) -> Any:
    """Add EDNS when the query has it, and drop the records of a reply that is too long for UDP."""
    offered_size = _offered_size(query)
    if offered_size is not None:
        reply.add_ar(EDNS0(udp_len=MAX_UDP_SIZE))
    size = len(reply.pack())
    if is_udp and size > min(max(offered_size or 0, PLAIN_UDP_SIZE), MAX_UDP_SIZE):
        reply.header.tc, reply.rr = 1, []
    return reply


def _resolve(query: Any, source: RecordSource) -> Any:
    if query.header.opcode != OPCODE.QUERY:
        return _failure(query, RCODE.NOTIMP)
    if len(query.questions) != 1:
        return _failure(query, RCODE.FORMERR)
    records, exists = _chain(str(query.q.qname), QTYPE[query.q.qtype], source)
    reply = query.reply()
    reply.add_answer(*records)
    if not records:
        reply.add_auth(_authority())
    # The last name of a chain decides (RFC 6604).
    reply.header.rcode = RCODE.NOERROR if exists else RCODE.NXDOMAIN
    return reply


def _authority() -> Any:
    """Return the record that says for how long there is nothing (RFC 2308 3)."""
    times = (1, TTL_SECONDS, TTL_SECONDS, TTL_SECONDS, TTL_SECONDS)
    return RR(
        ".", QTYPE.SOA, rdata=SOA("localhost.", "postmaster.localhost.", times), ttl=TTL_SECONDS
    )


def _failure(query: Any, rcode: int) -> Any:
    reply = query.reply()
    reply.header.rcode = rcode
    return reply


def _chain(name: str, rtype: str, source: RecordSource) -> tuple[list[Any], bool]:
    """The records that answer, CNAMEs first, and whether the name they lead to exists."""
    answers: list[Any] = []
    for _ in range(MAX_CHAIN):
        records = source.lookup(name.rstrip(".").lower())
        if records is None:
            return answers, False
        matching = [record for record in records if rtype in (record[0], "ANY")]
        alias = next((record for record in records if record[0] == "CNAME"), None)
        if matching or alias is None:
            return answers + [_resource(name, *record) for record in matching], True
        answers.append(_resource(name, *alias))
        name = alias[1]
    raise ValueError(f"the CNAMEs from {name} have no end")


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
    return {"CNAME": CNAME, "NS": NS, "PTR": PTR}[rtype](value)


def _offered_size(query: Any) -> int | None:
    """The UDP payload size of the query's EDNS record (RFC 6891); None when it has none."""
    return next((int(record.rclass) for record in query.ar if record.rtype == QTYPE.OPT), None)
