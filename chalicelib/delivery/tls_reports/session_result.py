"""Describe how a session with a mail host ended, as far as TLS goes (RFC 8460 4.3)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionResult:
    """A session for mail to ``domain``.

    ``policy`` has the lines of the MTA-STS policy or the TLSA records that were in force, and
    ``hosts`` the hosts that a policy names. ``kind`` is ``SUCCESS``, why there was no TLS, or why
    no policy was in force although one is announced.
    """

    domain: str
    policy_type: str
    kind: str
    host: str = ""
    sending_ip: str = ""
    policy: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
