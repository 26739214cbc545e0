"""Implement the SMTP commands (RFC 5321, 3207, 4954, 2034, 2920; spec 5, rule 7).

A command is a method that replies or raises Refusal; the conversation turns refusals into replies.
Those of a mail transaction are in `transaction`. The session works for either service: submission
with a login, or mail from elsewhere.
"""

from __future__ import annotations

from typing import NoReturn

from relay import login, replies
from relay.errors import LoginRefused, SmtpRefusal
from relay.login import Login
from relay.transaction import Transaction, no_argument

_USERNAME_PROMPT = "VXNlcm5hbWU6"
_PASSWORD_PROMPT = "UGFzc3dvcmQ6"


class RelaySession(Transaction):
    """One client's conversation."""

    failed_logins = 0

    async def serve(self, line: bytes) -> None:
        """Run one command line; raises Refusal."""
        try:
            verb, _, argument = line.decode().partition(" ")
        except UnicodeDecodeError:
            raise SmtpRefusal(replies.NOT_UTF8) from None
        command = self._smtp_methods.get(verb.upper())
        if command is None:
            raise SmtpRefusal(replies.UNKNOWN_COMMAND)
        await command(argument.strip(" "))

    # Greeting.

    async def smtp_HELO(self, argument: str) -> None:
        """Start without extensions."""
        self._begin(argument, extended=False)
        self.reply(replies.hello(self.hostname))

    async def smtp_EHLO(self, argument: str) -> None:
        """Start, and list the extensions."""
        self._begin(argument, extended=True)
        self.reply_octets(replies.extended_hello(self.hostname, self._capabilities()))

    def _begin(self, client_name: str, *, extended: bool) -> None:
        if not client_name and not self.config.lenient:
            raise SmtpRefusal(replies.HOSTNAME_NEEDED)
        self._set_rset_state()
        self.session.host_name = client_name
        self.session.extended_smtp = extended

    def _capabilities(self) -> list[str]:
        """Return what EHLO lists: before a required STARTTLS, only what the client needs for it."""
        takes_logins = self.context.service.takes_logins
        if takes_logins and not self._login_allowed():
            return ["STARTTLS", "ENHANCEDSTATUSCODES", "PIPELINING", "8BITMIME"]
        has_tls = self.context.tls is not None and not self.tls_active
        return [
            *(["STARTTLS"] if has_tls and self.config.lists_tls else []),
            "ENHANCEDSTATUSCODES",
            *(["AUTH LOGIN PLAIN", "AUTH=LOGIN PLAIN"] if takes_logins else []),
            "8BITMIME",
            "CHUNKING",
            "PIPELINING",
            "SMTPUTF8",
            f"SIZE {self.config.max_message}",
        ]

    async def smtp_STARTTLS(self, argument: str) -> None:
        """Change to TLS and forget what the client said before (RFC 3207 4.2)."""
        no_argument(argument)
        if self.tls_active:
            raise SmtpRefusal(replies.TLS_ACTIVE)
        if self.context.tls is None:
            raise SmtpRefusal(replies.TLS_UNAVAILABLE)
        self.reply(replies.START_TLS)
        await self.start_tls()
        self._set_rset_state()
        self.identity = None
        self.session.host_name = None
        self.session.extended_smtp = False

    # Login.

    async def smtp_AUTH(self, argument: str) -> None:
        """Log in by LOGIN or PLAIN, each with or without an initial response."""
        if not self.context.service.takes_logins:
            raise SmtpRefusal(replies.NOT_IMPLEMENTED)
        if not self.session.extended_smtp and not self.config.lenient:
            raise SmtpRefusal(replies.EHLO_FIRST)
        if not self._login_allowed():
            raise SmtpRefusal(replies.LOGIN_NEEDS_TLS)
        if self.identity is not None:
            raise SmtpRefusal(replies.LOGIN_DONE)
        if not self.between_messages():
            raise SmtpRefusal(replies.MAIL_REPEATED)
        mechanism, _, initial = argument.partition(" ")
        credentials = None
        try:
            credentials = await self._read_login(mechanism.upper(), initial or None)
            self.identity = await self.context.service.log_in(
                self.run_blocking, credentials, self.peer_ip
            )
        except LoginRefused as refusal:
            await self._login_failed(refusal, credentials)
        self.context.counters.logins += 1
        self.reply(replies.LOGIN_OK)

    async def _login_failed(self, refusal: LoginRefused, credentials: Login | None) -> NoReturn:
        """Refuse a login after a wait that grows with the failures, and close after too many."""
        self.context.counters.logins_refused += 1
        self.failed_logins += 1
        subaccount = self.context.service.subaccount_of(credentials) if credentials else None
        count = self.context.failed_logins.add(self.peer_ip, subaccount)
        await self.pause(self.config.failed_login_wait(count))
        config = self.config
        if count < config.max_failed_logins or self.failed_logins < config.min_failed_logins:
            raise refusal
        self.reply(refusal.reply)
        raise SmtpRefusal(replies.TOO_MANY_FAILED_LOGINS)

    def _login_allowed(self) -> bool:
        return self.tls_active or not self.config.require_tls

    async def _read_login(self, mechanism: str, initial: str | None) -> Login:
        if mechanism == "PLAIN":
            return login.login_of_plain(await self._response(initial, ""))
        if mechanism == "LOGIN":
            username = await self._response(initial, _USERNAME_PROMPT)
            password = await self._response(None, _PASSWORD_PROMPT)
            return login.login_of(username, password)
        raise SmtpRefusal(replies.LOGIN_MECHANISM)

    async def _response(self, initial: str | None, prompt: str) -> bytes:
        """Return the initial response, or prompt for one."""
        if initial is None:
            self.reply(replies.challenge(prompt))
            initial = (await self.next_line(of_login=True)).decode("latin-1")
        return login.decode_response(initial)

    # The rest.

    async def smtp_NOOP(self, argument: str) -> None:
        """Do nothing."""
        self.reply(replies.OK)

    async def smtp_QUIT(self, argument: str) -> None:
        """Close the connection."""
        no_argument(argument)
        self.close_with(replies.GOODBYE)

    async def smtp_HELP(self, argument: str) -> None:
        """List the commands."""
        self.reply(replies.HELP)

    async def smtp_VRFY(self, argument: str) -> None:
        """Say nothing about addresses (RFC 5321 3.5.3)."""
        self.reply(replies.CANNOT_VERIFY)

    async def smtp_EXPN(self, argument: str) -> None:
        """Say nothing about lists."""
        raise SmtpRefusal(replies.NOT_IMPLEMENTED)
