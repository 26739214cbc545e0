"""Take messages that were kept elsewhere into the local mailbox: ``POST /local/mailbox``.

A message arrives now, whatever its Date says, so that it is where people look for it. Who sent it
to whom is in the trace that a mailbox put before it (``Return-Path``, ``Delivered-To``), else in
its From, To, Cc and Bcc; the request may say it better.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from chalicelib.mail_format.address_list import read_addresses
from infrastructure.local.catching.limits import MOST_OCTETS
from infrastructure.local.gateway.local_api import (
    LocalError,
    LocalReply,
    LocalRequest,
    LocalRoute,
    results,
)
from infrastructure.local.gateway.message_lookup import PREFIX
from infrastructure.local.mailbox.arrival import copies_of
from infrastructure.local.mailbox.header_fields import field, header_block
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.tags import TagChoices
from infrastructure.local.mailbox.trace import LINE_BREAK, Trace, split
from relay.line_ends import LineEnds

_RECIPIENT_FIELDS = ("To", "Cc", "Bcc")
_FIRST_FIELD = re.compile(rb"[!-9;-~]{1,200}[ \t]*:")


class MailboxImport:
    """The operation that adds a message to the mailbox."""

    def __init__(self, mailbox: SinkMailbox, inbox_by: str, tags: TagChoices) -> None:
        self._mailbox = mailbox
        self._inbox_by = inbox_by
        self._tags = tags

    def routes(self) -> list[LocalRoute]:
        """Return the route."""
        return [LocalRoute("POST", PREFIX, self.add, MOST_OCTETS)]

    def add(self, request: LocalRequest) -> LocalReply:
        """Add a message (RFC 5322) that was kept elsewhere, once for each of its inboxes."""
        source = _with_crlf(request.body)
        if _FIRST_FIELD.match(source) is None:
            text = "the body is no message: it does not begin with a header field"
            raise LocalError(400, text)
        trace, message = _read(source)
        trace = _as_requested(trace, request.query)
        has_inbox = trace.inbox or "inbox" in request.query
        copies = copies_of(trace, message, "" if has_inbox else self._inbox_by, self._tags)
        return results({"ids": self._mailbox.store_all(copies)}, status=201)


def _with_crlf(body: bytes) -> bytes:
    """Return a message with CRLF line ends, also after its last line."""
    return LineEnds().converted(body if body.endswith(b"\n") else body + b"\n")


def _read(source: bytes) -> tuple[Trace, bytes]:
    """Return the trace of a message, and the message without it."""
    try:
        trace, begin = split(source)
    except (ValueError, RecursionError, AttributeError, TypeError):  # JSON of somebody else
        trace, begin = None, 0
    if trace is not None and all(map(_is_text, _values(trace))):
        return trace, source[begin:]
    headers = header_block(source)
    sender = _addresses([field(headers, "Return-Path") or field(headers, "From")])
    recipients = _addresses([field(headers, "Delivered-To")]) or _addresses(
        [field(headers, name) for name in _RECIPIENT_FIELDS]
    )
    return Trace(sender[0] if sender else "", tuple(recipients)), source


def _as_requested(trace: Trace, query: Mapping[str, str]) -> Trace:
    """Return the trace with what the request says of sender, recipients and inbox."""
    for name in ("inbox", "from", "to"):
        if LINE_BREAK.search(query.get(name, "")):
            raise LocalError(400, f"{name} holds a line break or a NUL")
    if "inbox" in query:
        trace = replace(trace, inbox=query["inbox"])
    if "from" in query:
        trace = replace(trace, sender=query["from"].strip())
    if "to" in query:
        addresses = [each.strip() for each in query["to"].split(",")]
        trace = replace(trace, recipients=tuple(filter(None, addresses)))
    return trace


def _addresses(values: Sequence[str]) -> list[str]:
    addresses = (each.email.strip("<>") for each in read_addresses(filter(None, values)))
    return list(dict.fromkeys(address for address in addresses if "@" in address))


def _values(trace: Trace) -> tuple[object, ...]:
    return (trace.inbox, trace.login, *trace.recipients, *trace.tags)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and LINE_BREAK.search(value) is None
