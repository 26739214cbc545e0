"""Make the SMTP commands and bytes that carry a message to a host (RFC 5321 3.3, 4.5.2).

- A domain with characters beyond ASCII goes as A-labels (RFC 5890).
- What a host without an extension does not take fails there, and is never changed: the message is
  signed. A local part of an address beyond ASCII, in the envelope or in the header, needs SMTPUTF8
  (RFC 6531); content beyond ASCII needs 8BITMIME (RFC 6152). Generation leaves such content only
  where its author has signed it, or has not described it. The failure says nothing about the
  recipient, whose next host may take it: its bounce class suppresses nobody.
- A message larger than the host's SIZE (RFC 1870) fails here, before it is sent.
- Line ends are CRLF on the wire whatever they are in the message: a bare CR or LF could be read as
  the end of a line, and so of the message, by the next host.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass

from chalicelib.core.addresses import in_a_labels
from chalicelib.core.bounce_classes import (
    ADMIN_FAILURE,
    GENERIC_BOUNCE,
    INVALID_RECIPIENT,
    TOO_LARGE,
)
from chalicelib.delivery.outcome import Failed, internal
from chalicelib.delivery.transports import OutboundMessage

Extensions = Mapping[str, str]
"""The extensions in a host's EHLO reply: keyword in upper case -> parameters."""

_SIZE = re.compile(r"\d{1,20}", re.ASCII)  # RFC 1870 4
_LINE_END = re.compile(rb"\r\n|\r|\n")
_UNSAFE = re.compile(r"[\x00-\x20\x7f<>]")
_UNSAFE_QUOTED = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class SmtpEnvelope:
    """The MAIL and RCPT commands of a message, each with its line end."""

    mail: bytes
    rcpt: bytes


def envelope_for(message: OutboundMessage, extensions: Extensions) -> SmtpEnvelope | Failed:
    """Return the envelope of `message` for a host with these extensions, or why it has none."""
    sender, recipient = on_the_wire(message.sender), on_the_wire(message.recipient)
    if recipient is None or not recipient:
        return Failed(553, internal("5.1.3", "not a usable recipient address"), INVALID_RECIPIENT)
    if sender is None:
        return Failed(553, internal("5.1.7", "not a usable sender address"), ADMIN_FAILURE)
    if failure := letters_failure(message.data, sender, recipient, extensions):
        return failure
    limit = extensions.get("SIZE", "")
    if _SIZE.fullmatch(limit) and 0 < int(limit) < len(message.data):
        text = f"{len(message.data)} bytes are more than the {limit} that the remote host takes"
        return Failed(552, internal("5.3.4", text), TOO_LARGE)
    parameters = _parameters(message.data, extensions, sender, recipient)
    return SmtpEnvelope(
        f"MAIL FROM:<{sender}>{parameters}\r\n".encode(), f"RCPT TO:<{recipient}>\r\n".encode()
    )


def letters_failure(
    data: bytes, sender: str, recipient: str, extensions: Container[str]
) -> Failed | None:
    """Return why a host with these extensions does not take the letters of a message.

    ``None``: it takes them. The addresses are as on the wire.
    """
    if "SMTPUTF8" in extensions:  # such a host takes 8-bit content as well (RFC 6531 3.1)
        return None
    if not (sender.isascii() and recipient.isascii()):
        return _lacking(553, "5.6.7", "the address needs SMTPUTF8")
    if data.isascii():
        return None
    if not _header_of(data).isascii():
        return _lacking(554, "5.6.9", "an address in the header needs SMTPUTF8")
    if "8BITMIME" not in extensions:
        return _lacking(554, "5.6.3", "content that may not be encoded needs 8BITMIME")
    return None


def _lacking(code: int, status: str, text: str) -> Failed:
    return Failed(
        code, internal(status, f"{text}, which the remote host does not offer"), GENERIC_BOUNCE
    )


def wire_data(data: bytes) -> bytes:
    """Return the message as it goes on the wire: CRLF line ends, dot-stuffed, without the dot.

    >>> wire_data(b".a\\n.b")
    b'..a\\r\\n..b\\r\\n'
    """
    ends = data.count(b"\r\n")
    if not ends == data.count(b"\n") == data.count(b"\r"):
        data = _LINE_END.sub(b"\r\n", data)
    if data.rfind(b"\r\n.") >= 0:  # looks for it three times as fast as `in`
        data = data.replace(b"\r\n.", b"\r\n..")
    if data.startswith(b"."):
        data = b"." + data
    return data if data.endswith(b"\r\n") else data + b"\r\n"


def _parameters(data: bytes, extensions: Extensions, sender: str, recipient: str) -> str:
    """Return the parameters of the MAIL command, each after a space."""
    parameters = f" SIZE={len(data)}" if "SIZE" in extensions else ""
    if data.isascii() and sender.isascii() and recipient.isascii():
        return parameters
    if "8BITMIME" in extensions:
        parameters += " BODY=8BITMIME"
    if "SMTPUTF8" in extensions and not (
        sender.isascii() and recipient.isascii() and _header_of(data).isascii()
    ):
        parameters += " SMTPUTF8"
    return parameters


def _header_of(data: bytes) -> bytes:
    end = data.find(b"\r\n\r\n")
    return data if end < 0 else data[:end]


def on_the_wire(address: str) -> str | None:
    """Return the address with its domain in A-labels; None if it could break out of a command."""
    local, _, domain = address.rpartition("@")
    unsafe = _UNSAFE_QUOTED if local.startswith('"') and local.endswith('"') else _UNSAFE
    if unsafe.search(local) or _UNSAFE.search(domain):
        return None
    return in_a_labels(address)
