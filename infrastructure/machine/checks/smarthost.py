"""Try the smarthost of the settings: connect, EHLO, STARTTLS and AUTH, as the delivery does."""

from __future__ import annotations

from dataclasses import replace

from chalicelib.core.host_and_port import read_host_and_port
from chalicelib.core.settings import Settings
from chalicelib.delivery import route
from chalicelib.delivery.transports.smtp_opening import (
    NotOnThisMachine,
    SessionOptions,
    SessionRefused,
    TlsFailed,
    open_session,
)
from chalicelib.delivery.transports.smtp_session import SessionFailed
from infrastructure.machine.checks.finding import OK, PROBLEM, WARNING, Finding

#: Seconds for each step; the delivery waits longer, but nobody waits for it
_MOST_SECONDS = 10.0


def check_smarthost(current: Settings) -> Finding:
    """Open a session as the delivery would, and end it; no message is sent.

    It takes as long as the host does, a few times ten seconds at most.
    """
    check = f"Smarthost {current.smarthost}"
    address = read_host_and_port(current.smarthost, route.SMTP_PORT)
    options = _within(_MOST_SECONDS, route.smarthost_options(current))
    try:
        session = open_session(address, current.mail_hostname, options)
    except SessionFailed as failure:
        reply = f"{failure.outcome.code} {failure.outcome.reply}"
        return Finding(check, PROBLEM, reply, _remedy(failure, current))
    is_encrypted, failure_of_tls = session.is_encrypted, session.tls_failure
    session.close()
    login = f" and takes the login of {current.smarthost_username}" * bool(options.credentials)
    if is_encrypted or current.smarthost_tls == "off":
        transport = "with TLS" if is_encrypted else "in the clear"
        return Finding(check, OK, f"answers {transport}{login}")
    reason = f" ({failure_of_tls})" if failure_of_tls else ""
    remedy = "mail to it can be read on its way; ask its operator for STARTTLS"
    return Finding(check, WARNING, f"answers without TLS{reason}{login}", remedy)


def _within(most: float, options: SessionOptions) -> SessionOptions:
    timeouts = options.timeouts
    shorter = replace(
        timeouts, connect=min(most, timeouts.connect), command=min(most, timeouts.command)
    )
    return replace(options, timeouts=shorter)


def _remedy(failure: SessionFailed, current: Settings) -> str:
    if isinstance(failure, NotOnThisMachine):
        return "start the service with --deliver, or set DELIVER=true"
    if isinstance(failure, TlsFailed):
        return (
            f"SMARTHOST_TLS is {current.smarthost_tls}: give the host a certificate for its name "
            "that this machine trusts, or set SMARTHOST_TLS=opportunistic"
        )
    if isinstance(failure, SessionRefused) and current.smarthost_username:
        return "check SMARTHOST_USERNAME and SMARTHOST_PASSWORD, and whom the host lets send"
    return "check SMARTHOST, and that this machine may connect to that port"
