"""Log clients of IMAP in (RFC 3501 6.2.2 and 6.2.3, RFC 4959)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infrastructure.local.mail_readers.imap_mailboxes import Mailboxes
from infrastructure.local.mail_readers.imap_replies import No
from infrastructure.local.mail_readers.imap_syntax import BadCommand, Scanner
from infrastructure.local.mail_readers.logins import (
    MOST_FAILURES,
    MOST_OCTETS,
    Credentials,
    LoginFailed,
    from_login,
    from_plain,
)

if TYPE_CHECKING:
    from infrastructure.local.mail_readers.imap_session import ImapSession


async def by_name(session: ImapSession, scanner: Scanner) -> str:
    """LOGIN."""
    name = scanner.astring()
    scanner.expect(b" ")
    password = scanner.astring()
    scanner.end()
    return await _log_in(
        session, Credentials(name.decode("utf-8", "replace"), password.decode("utf-8", "replace"))
    )


async def by_sasl(session: ImapSession, scanner: Scanner) -> str:
    """AUTHENTICATE, by PLAIN or LOGIN."""
    mechanism = scanner.atom()
    initial = scanner.astring() if scanner.skips(b" ") else None
    scanner.end()
    initial = b"" if initial == b"=" else initial
    try:
        if mechanism == "PLAIN":
            login = from_plain(await _response(session, "") if initial is None else initial)
        elif mechanism == "LOGIN":
            name = await _response(session, "VXNlcm5hbWU6") if initial is None else initial
            login = from_login(name, await _response(session, "UGFzc3dvcmQ6"))
        else:
            raise No("AUTHENTICATE takes PLAIN or LOGIN")
    except LoginFailed:
        raise BadCommand("the response cannot be read") from None
    return await _log_in(session, login)


async def _response(session: ImapSession, challenge: str) -> bytes:
    session.say(f"+ {challenge}")
    response = await session.connection.line(2 * MOST_OCTETS)
    if response == b"*":
        raise BadCommand("cancelled")
    return response


async def _log_in(session: ImapSession, login: Credentials) -> str:
    desk = session.desk
    try:
        inbox = await desk.run(desk.logins.inbox, login)
    except LoginFailed:
        session.failures += 1
        if session.failures >= MOST_FAILURES:
            session.end("too many wrong logins")
        raise No("wrong name or password", "AUTHENTICATIONFAILED") from None
    session.mailboxes = Mailboxes(desk, inbox)
    session.connection.is_logged_in = True
    return f"[CAPABILITY {session.capabilities()}] logged in"
