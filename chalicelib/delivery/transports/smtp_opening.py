"""The opening of an SMTP session: connect, greeting, EHLO, STARTTLS, AUTH.

What goes wrong says nothing about the message, so it raises `SessionFailed` with a `Retry`;
`SessionRefused` when the host did answer and said no, with the code it gave, which a caller may
hold against the message.

Opportunistic TLS falls back to a new connection in the clear when the handshake fails, unless there
are credentials to send.
"""

from __future__ import annotations

import socket
from base64 import b64encode
from dataclasses import replace

from chalicelib.core.bounce_classes import DNS_FAILURE, SOFT_BOUNCE, TIMEOUT
from chalicelib.delivery.classify import classify
from chalicelib.delivery.outcome import Retry, internal
from chalicelib.delivery.transports.smtp_envelope import Extensions
from chalicelib.delivery.transports.smtp_options import (
    Credentials,
    SessionOptions,
    TlsMode,
    tls_context,
)
from chalicelib.delivery.transports.smtp_session import SessionFailed, SmtpSession, broken
from chalicelib.delivery.transports.smtp_wire import ConnectionLost, Reply, SmtpWire


class SessionRefused(SessionFailed):
    """The host answered, and does not want this session; the outcome's code is the host's."""


class TlsFailed(SessionFailed):
    """The connection could not be encrypted."""


def open_session(
    address: tuple[str, int],
    ehlo_name: str,
    options: SessionOptions,
    *,
    source_address: str | None = None,
    host_name: str = "",
) -> SmtpSession:
    """Return a session that is ready for its first message, or raise SessionFailed.

    `address` is a host name or IP address and a port; `host_name` the name to expect in the
    certificate, where that is not the first part of `address`.
    """
    name = host_name or address[0]
    try:
        return _open(address, name, ehlo_name, options, source_address)
    except TlsFailed:
        if options.tls is not TlsMode.OPPORTUNISTIC or options.credentials:
            raise
    in_the_clear = replace(options, tls=TlsMode.OFF)
    return _open(address, name, ehlo_name, in_the_clear, source_address)


def _open(
    address: tuple[str, int],
    host_name: str,
    ehlo_name: str,
    options: SessionOptions,
    source_address: str | None,
) -> SmtpSession:
    wire = _connect(address, source_address, options.timeouts.connect)
    opening = _Opening(wire, ehlo_name, options)
    try:
        return opening.run(host_name)
    except ConnectionLost as error:
        wire.close()
        raise SessionFailed(broken(error, "", *wire.ends)) from error
    except BaseException:
        wire.close()
        raise


def _connect(address: tuple[str, int], source_address: str | None, seconds: float) -> SmtpWire:
    source = (source_address, 0) if source_address else None
    try:
        return SmtpWire(socket.create_connection(address, seconds, source))
    except TimeoutError as error:
        told, bounce_class = f"connecting to {address[0]} took too long", TIMEOUT
        cause: OSError = error
    except socket.gaierror as error:
        told, bounce_class = f"{address[0]} was not found in the DNS", DNS_FAILURE
        cause = error
    except OSError as error:
        told, bounce_class = f"{address[0]}: {error.strerror or error}", SOFT_BOUNCE
        cause = error
    code, status = (451, "4.4.3") if bounce_class == DNS_FAILURE else (421, "4.4.1")
    raise SessionFailed(Retry(code, internal(status, told), bounce_class)) from cause


class _Opening:
    """The dialogue that ends in a session."""

    def __init__(self, wire: SmtpWire, ehlo_name: str, options: SessionOptions) -> None:
        self._wire = wire
        self._ehlo_name = ehlo_name
        self._options = options
        self._offered: Extensions = {}

    def run(self, host_name: str) -> SmtpSession:
        self._expect(self._read(), 220)
        self._greet()
        if self._options.tls is not TlsMode.OFF:
            self._encrypt(host_name)
        if self._options.credentials:
            self._authenticate(self._options.credentials)
        return SmtpSession(self._wire, self._offered, self._options.timeouts)

    def _greet(self) -> None:
        """Say EHLO and learn what the host offers; HELO if it does not know EHLO."""
        reply = self._say(f"EHLO {self._ehlo_name}")
        if reply.code in (500, 501, 502, 504):
            self._expect(self._say(f"HELO {self._ehlo_name}"), 250)
            self._offered = {}
            return
        self._expect(reply, 250)
        words = (line.partition(" ") for line in reply.lines[1:])
        self._offered = {keyword.upper(): rest.strip() for keyword, _, rest in words}

    def _encrypt(self, host_name: str) -> None:
        if "STARTTLS" not in self._offered:
            if self._options.tls is TlsMode.REQUIRED or self._options.credentials:
                raise self._without_tls("the remote host does not offer STARTTLS")
            return
        try:
            reply = self._say("STARTTLS")
            if reply.code != 220:
                raise self._without_tls(f"STARTTLS was answered by {reply.code} {reply.text}")
            context = tls_context(self._options.verify)
            self._wire.start_tls(context, host_name, self._options.timeouts.command)
            self._greet()
        except ConnectionLost as error:
            raise self._without_tls(str(error)) from error

    def _without_tls(self, why: str) -> TlsFailed:
        text = internal("4.7.5", f"no TLS: {why}")
        return TlsFailed(Retry(454, text, SOFT_BOUNCE, *self._wire.ends))

    def _authenticate(self, credentials: Credentials) -> None:
        """Say who we are, by PLAIN (RFC 4616) or else by LOGIN."""
        mechanisms = self._offered.get("AUTH", "").upper().split()
        username, password = credentials.username.encode(), credentials.password.encode()
        if "PLAIN" in mechanisms:
            self._expect(self._say(f"AUTH PLAIN {_base64(b'', username, password)}"), 235)
        elif "LOGIN" in mechanisms:
            self._expect(self._say("AUTH LOGIN"), 334)
            self._expect(self._say(_base64(username)), 334)
            self._expect(self._say(_base64(password)), 235)
        else:
            text = internal("4.7.0", "the remote host offers neither AUTH PLAIN nor AUTH LOGIN")
            raise SessionFailed(Retry(454, text, SOFT_BOUNCE, *self._wire.ends))

    def _say(self, command: str) -> Reply:
        self._wire.send(f"{command}\r\n".encode(), self._options.timeouts.command)
        return self._read()

    def _read(self) -> Reply:
        return self._wire.read_reply(self._options.timeouts.command)

    def _expect(self, reply: Reply, code: int) -> None:
        if reply.code != code:
            bounce_class = classify(reply.code, reply.text)
            raise SessionRefused(Retry(reply.code, reply.text, bounce_class, *self._wire.ends))


def _base64(*fields: bytes) -> str:
    return b64encode(b"\0".join(fields)).decode()
