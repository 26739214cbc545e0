"""How to talk to a host: encryption, credentials, time-outs."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from enum import StrEnum
from functools import cache


class TlsMode(StrEnum):
    """Whether to use STARTTLS (RFC 3207): never, when it can be had, or not without it."""

    OFF = "off"
    OPPORTUNISTIC = "opportunistic"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who to be for AUTH (RFC 4954)."""

    username: str
    password: str


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds that each phase may take, as a whole and not per byte.

    RFC 5321 4.5.3.2 would wait five minutes for most replies; `command` is shorter because a lost
    minute costs a worker and the message is tried again anyway. `final` is not: giving up on a
    host that is about to say yes sends the message twice (RFC 1047).
    """

    connect: float = 30.0
    command: float = 60.0
    data: float = 300.0
    final: float = 300.0
    quit: float = 2.0


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """How to open and use the sessions of a transport.

    `verify` checks the host's certificate. Credentials are sent in the clear only if `tls` is OFF.
    """

    tls: TlsMode = TlsMode.OPPORTUNISTIC
    verify: bool = False
    credentials: Credentials | None = None
    timeouts: Timeouts = Timeouts()


@cache
def tls_context(verify: bool) -> ssl.SSLContext:
    """Return the TLS settings, made once: loading the trusted authorities takes milliseconds.

    Without verification any encryption is better than none, which is all that can be asked of
    hosts found in the DNS (RFC 7435).
    """
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
