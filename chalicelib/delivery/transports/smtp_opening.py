"""Open an SMTP session: connect, greeting, EHLO, STARTTLS, AUTH.

A failure here says nothing about the message, so it raises `SessionFailed` with a `Retry`. It is a
`SessionRefused` when the host answered and said no, with the host's code, which a caller may count
against the message.

Opportunistic TLS falls back to a new connection in the clear when the handshake fails, unless there
are credentials to send. Why it fell back is in the session (`tls_failure`).
"""

from __future__ import annotations

import errno
import socket
import ssl
from base64 import b64encode
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache

from chalicelib.core.bounce_classes import DNS_FAILURE, SOFT_BOUNCE, TIMEOUT
from chalicelib.core.ip_addresses import is_loopback
from chalicelib.core.tls_results import (
    EXPIRED,
    HOST_MISMATCH,
    INVALID,
    NO_STARTTLS,
    NOT_TRUSTED,
)
from chalicelib.delivery.classify import classify
from chalicelib.delivery.dane.records import HostRecords
from chalicelib.delivery.outcome import Retry, internal
from chalicelib.delivery.transports import kept_mail
from chalicelib.delivery.transports.smtp_envelope import Extensions
from chalicelib.delivery.transports.smtp_session import (
    SessionFailed,
    SmtpSession,
    broken_connection,
)
from chalicelib.delivery.transports.smtp_wire import ConnectionLost, HostReply, SmtpWire, Timeouts

#: By OpenSSL's codes of X509_V_ERR_CERT_HAS_EXPIRED and X509_V_ERR_HOSTNAME_MISMATCH
_KINDS = {10: EXPIRED, 62: HOST_MISMATCH}


class TlsMode(StrEnum):
    """Whether to use STARTTLS (RFC 3207): never, if the host offers it, or always."""

    OFF = "off"
    OPPORTUNISTIC = "opportunistic"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Credentials:
    """The login for AUTH (RFC 4954)."""

    username: str
    password: str


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """How to open and use the sessions of a transport.

    `verify` checks the host's certificate by the trusted authorities, `tlsa` by TLSA records.
    `policy` is the name of the policy that asks for either. Credentials are sent in the clear only
    if `tls` is OFF. With `loopback_only` a session with another machine is refused.
    """

    tls: TlsMode = TlsMode.OPPORTUNISTIC
    verify: bool = False
    credentials: Credentials | None = None
    timeouts: Timeouts = field(default_factory=Timeouts)
    tlsa: HostRecords | None = None
    policy: str | None = None
    loopback_only: bool = False


class SessionRefused(SessionFailed):
    """The host answered and refused the session; the outcome's code is the host's."""


class NotOnThisMachine(SessionRefused):
    """The host is another machine, and mail may not leave this one."""


class TlsFailed(SessionFailed):
    """The connection could not be encrypted; `kind` says why as TLS reports do (RFC 8460 4.3)."""

    def __init__(self, outcome: Retry, kind: str) -> None:
        super().__init__(outcome)
        self.kind = kind


def open_session(
    address: tuple[str, int],
    ehlo_name: str,
    options: SessionOptions,
    *,
    source_address: str | None = None,
    host_name: str = "",
) -> SmtpSession:
    """Return a session that is ready for its first message; raises SessionFailed.

    `address` is a host name or IP address and a port; `host_name` the name to expect in the
    certificate, where that is not the first part of `address`.
    """
    name = host_name or address[0]
    try:
        return _open(address, name, ehlo_name, options, source_address)
    except TlsFailed as error:
        if options.tls is not TlsMode.OPPORTUNISTIC or options.credentials:
            raise
        failure = error
    in_the_clear = replace(options, tls=TlsMode.OFF)
    session = _open(address, name, ehlo_name, in_the_clear, source_address)
    session.tls_failure = failure.kind
    return session


def _open(
    address: tuple[str, int],
    host_name: str,
    ehlo_name: str,
    options: SessionOptions,
    source_address: str | None,
) -> SmtpSession:
    if options.loopback_only and not is_loopback(address[0]):
        raise NotOnThisMachine(kept_mail.refuse(host_name))
    wire = _connect(address, source_address, options.timeouts.connect)
    opening = _Opening(wire, ehlo_name, options)
    try:
        return opening.run(host_name)
    except ConnectionLost as error:
        wire.close()
        raise SessionFailed(broken_connection(error, "", *wire.ends)) from error
    except BaseException:
        wire.close()
        raise


def _connect(address: tuple[str, int], source_address: str | None, seconds: float) -> SmtpWire:
    source = (source_address, 0) if source_address else None
    try:
        return SmtpWire(socket.create_connection(address, seconds, source))
    except TimeoutError as error:
        text = internal("4.4.1", f"connecting to {address[0]} took too long")
        raise SessionFailed(Retry(421, text, TIMEOUT)) from error
    except socket.gaierror as error:
        text = internal("4.4.3", f"{address[0]} was not found in the DNS")
        raise SessionFailed(Retry(451, text, DNS_FAILURE)) from error
    except OSError as error:
        if source and error.errno == errno.EADDRNOTAVAIL:
            text = internal("4.4.1", f"this host has no address {source_address} to send from")
        else:
            text = internal("4.4.1", f"{address[0]}: {error.strerror or error}")
        raise SessionFailed(Retry(421, text, SOFT_BOUNCE)) from error


class _Opening:
    """The dialogue that opens a session."""

    def __init__(self, wire: SmtpWire, ehlo_name: str, options: SessionOptions) -> None:
        self._wire = wire
        self._ehlo_name = ehlo_name
        self._options = options
        self._extensions: Extensions = {}

    def run(self, host_name: str) -> SmtpSession:
        self._expect(self._read(), 220)
        self._greet()
        if self._options.tls is not TlsMode.OFF:
            self._encrypt(host_name)
        if self._options.credentials:
            self._authenticate(self._options.credentials)
        return SmtpSession(self._wire, self._extensions, self._options.timeouts)

    def _greet(self) -> None:
        """Say EHLO and read which extensions the host offers; HELO if it does not know EHLO."""
        reply = self._say(f"EHLO {self._ehlo_name}")
        if reply.code in (500, 501, 502, 504):
            self._expect(self._say(f"HELO {self._ehlo_name}"), 250)
            self._extensions = {}
            return
        self._expect(reply, 250)
        words = (line.partition(" ") for line in reply.lines[1:])
        self._extensions = {keyword.upper(): rest.strip() for keyword, _, rest in words}

    def _encrypt(self, host_name: str) -> None:
        if "STARTTLS" not in self._extensions:
            if self._options.tls is TlsMode.REQUIRED or self._options.credentials:
                raise self._tls_failure("the remote host does not offer STARTTLS", NO_STARTTLS)
            return
        try:
            reply = self._say("STARTTLS")
            if reply.code != 220:
                text = f"STARTTLS was answered by {reply.code} {reply.text}"
                raise self._tls_failure(text, NO_STARTTLS)
            context = tls_context(self._options.verify)
            self._wire.start_tls(context, host_name, self._options.timeouts.command)
            if self._options.tlsa and self._options.tlsa.records:
                self._authenticate_host(self._options.tlsa)
            elif self._options.verify:
                self._wire.tls_policy = self._options.policy
            self._greet()
        except ConnectionLost as error:
            raise self._tls_failure(str(error), _kind_of(error)) from error

    def _authenticate_host(self, tlsa: HostRecords) -> None:
        from chalicelib.delivery.dane.authentication import NotAuthenticated, authenticate

        try:
            authenticate(self._wire.certificates(), tlsa.records, tlsa.names)
        except NotAuthenticated as error:
            raise self._tls_failure(str(error), error.kind) from error
        self._wire.tls_policy = self._options.policy

    def _tls_failure(self, reason: str, kind: str) -> TlsFailed:
        text = internal("4.7.5", f"no TLS: {reason}")
        return TlsFailed(Retry(454, text, SOFT_BOUNCE, *self._wire.ends), kind)

    def _authenticate(self, credentials: Credentials) -> None:
        """Log in by PLAIN (RFC 4616), or else by LOGIN."""
        mechanisms = self._extensions.get("AUTH", "").upper().split()
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

    def _say(self, command: str) -> HostReply:
        data, timeouts = f"{command}\r\n".encode(), self._options.timeouts
        return self._wire.send_or_hear(data, timeouts.command, timeouts.quit) or self._read()

    def _read(self) -> HostReply:
        return self._wire.read_reply(self._options.timeouts.command)

    def _expect(self, reply: HostReply, code: int) -> None:
        if reply.code != code:
            bounce_class = classify(reply.code, reply.text)
            raise SessionRefused(Retry(reply.code, reply.text, bounce_class, *self._wire.ends))


@cache
def tls_context(verify: bool) -> ssl.SSLContext:
    """Return the TLS settings, made once: loading the trusted authorities takes milliseconds.

    Without `verify` the certificate is not checked: any encryption is better than none, and a host
    found in the DNS can promise no more (RFC 7435). With it, the name must be among the alternative
    names of the certificate; the common name does not count (RFC 8461 4.2, RFC 9525 6.3).
    """
    context = ssl.create_default_context()
    context.hostname_checks_common_name = False
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _kind_of(error: ConnectionLost) -> str:
    """Return the kind of a failed handshake, as TLS reports name it (RFC 8460 4.3)."""
    cause = error.__cause__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _KINDS.get(cause.verify_code, NOT_TRUSTED)
    return INVALID


def _base64(*fields: bytes) -> str:
    return b64encode(b"\0".join(fields)).decode()
