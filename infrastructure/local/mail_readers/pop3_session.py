"""Serve one client of POP3 (RFC 1939, with CAPA of RFC 2449, STLS of RFC 2595, AUTH of RFC 5034).

The messages are those of the login when it came, the oldest first. Reading does not flag them as
read. They are not locked: one that is deleted meanwhile by another program is an error when read.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Awaitable, Callable

from infrastructure.local.mail_readers.connection import Connection, LineTooLong
from infrastructure.local.mail_readers.desk import ReadingDesk
from infrastructure.local.mail_readers.logins import (
    MOST_FAILURES,
    MOST_OCTETS,
    Credentials,
    LoginFailed,
    from_login,
    from_plain,
    scope_of,
)
from infrastructure.local.mail_readers.pop3_text import top_of, transferred

_MOST_LINE = 2048
_CHUNK = 500
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
_CAPABILITIES = (
    *("TOP", "UIDL", "USER", "RESP-CODES", "PIPELINING", "EXPIRE NEVER"),
    *("SASL PLAIN LOGIN", "IMPLEMENTATION Postfinch"),
)


class Pop3Error(Exception):
    """The command cannot be done; the text is for the client."""


class Pop3Session:
    """A session; `is_over` after QUIT."""

    def __init__(self, connection: Connection, desk: ReadingDesk) -> None:
        self._connection = connection
        self._desk = desk
        self._username = ""
        self._failures = 0
        self._uids: array[int] = array("q")
        self._sizes: array[int] = array("q")
        self._deleted: set[int] = set()
        self.is_over = False

    @classmethod
    async def serve(cls, connection: Connection, desk: ReadingDesk) -> None:
        """Serve a client until it leaves."""
        session = cls(connection, desk)
        session._say("+OK Postfinch POP3 server")
        while not session.is_over:
            await session.next_command()

    async def next_command(self) -> None:
        """Do the next command of the client."""
        try:
            line = await self._connection.line(_MOST_LINE)
            word, _, argument = line.decode("utf-8", "replace").partition(" ")
            table = _IN_TRANSACTION if self._connection.is_logged_in else _BEFORE_LOGIN
            command = table.get(word.upper())
            if command is None:
                is_early = word.upper() in _IN_TRANSACTION
                raise Pop3Error("log in first" if is_early else "unknown command")
            await command(self, argument)
        except LineTooLong:
            self._say("-ERR line too long")
        except Pop3Error as error:
            self._say(f"-ERR {error}")

    # Before a login

    async def _capabilities(self, _: str) -> None:
        self._say("+OK capabilities follow")
        for each in _CAPABILITIES:
            self._say(each)
        if not (self._connection.is_secure or self._connection.is_logged_in):
            self._say("STLS")
        self._say(".")

    async def _user(self, argument: str) -> None:
        if not argument or len(argument) > MOST_OCTETS:
            raise Pop3Error("USER takes a name")
        self._username = argument
        self._say("+OK")

    async def _password(self, argument: str) -> None:
        if not self._username:
            raise Pop3Error("say USER first")
        # A password may have blanks
        await self._log_in(Credentials(self._username, argument))

    async def _authenticate(self, argument: str) -> None:
        mechanism, _, initial = argument.partition(" ")
        try:
            if mechanism.upper() == "PLAIN":
                login = from_plain(initial.encode() if initial else await self._response(""))
            elif mechanism.upper() == "LOGIN":
                name = initial.encode() if initial else await self._response("VXNlcm5hbWU6")
                login = from_login(name, await self._response("UGFzc3dvcmQ6"))
            else:
                raise Pop3Error("AUTH takes PLAIN or LOGIN")
        except LoginFailed:
            raise Pop3Error("the response cannot be read") from None
        await self._log_in(login)

    async def _response(self, challenge: str) -> bytes:
        self._say(f"+ {challenge}")
        response = await self._connection.line(2 * MOST_OCTETS)
        if response == b"*":
            raise Pop3Error("cancelled")
        return response

    async def _log_in(self, login: Credentials) -> None:
        try:
            inbox = await self._desk.run(self._desk.logins.inbox, login)
        except LoginFailed:
            self._username = ""
            self._failures += 1
            self.is_over = self._failures >= MOST_FAILURES
            raise Pop3Error("[AUTH] wrong name or password") from None
        sizes = self._desk.numbers.sizes
        self._uids, self._sizes = await self._desk.run(sizes, scope_of(inbox))
        self._connection.is_logged_in = True
        self._say(f"+OK {len(self._uids)} messages")

    async def _start_tls(self, _: str) -> None:
        if self._connection.is_secure:
            raise Pop3Error("TLS is on already")
        self._say("+OK begin TLS")
        self._username = ""
        await self._connection.start_tls(self._desk.tls)

    # After it

    async def _status(self, _: str) -> None:
        octets = sum(self._sizes) - sum(self._sizes[each] for each in self._deleted)
        self._say(f"+OK {len(self._uids) - len(self._deleted)} {octets}")

    async def _list(self, argument: str) -> None:
        if argument:
            position = self._position(argument)
            self._say(f"+OK {position + 1} {self._sizes[position]}")
            return
        self._say("+OK sizes follow")
        for position, size in enumerate(self._sizes):
            if position not in self._deleted:
                self._say(f"{position + 1} {size}")
                await self._connection.flush_much()
        self._say(".")

    async def _unique_ids(self, argument: str) -> None:
        if argument:
            position = self._position(argument)
            self._say(f"+OK {position + 1} {await self._message_id(position)}")
            return
        self._say("+OK ids follow")
        for start in range(0, len(self._uids), _CHUNK):
            uids = self._uids[start : start + _CHUNK]
            messages = await self._desk.run(self._desk.numbers.messages, uids)
            for position, uid in enumerate(uids, start):
                if position not in self._deleted and uid in messages:
                    self._say(f"{position + 1} {messages[uid].id}")
            await self._connection.flush_much()
        self._say(".")

    async def _retrieve(self, argument: str) -> None:
        await self._send_content(self._position(argument))

    async def _top(self, argument: str) -> None:
        number, _, count = argument.partition(" ")
        if not _NUMBER.fullmatch(count.strip()):
            raise Pop3Error("TOP takes a message and a number of lines")
        await self._send_content(self._position(number), int(count))

    async def _delete(self, argument: str) -> None:
        self._deleted.add(self._position(argument))
        self._say("+OK deleted at QUIT")

    async def _nothing(self, _: str) -> None:
        self._say("+OK")

    async def _reset(self, _: str) -> None:
        self._deleted.clear()
        self._say("+OK")

    async def _quit(self, _: str) -> None:
        if self._deleted:
            await self._desk.run(self._delete_all)
        self._say("+OK goodbye")
        self.is_over = True

    def _delete_all(self) -> None:
        uids = [self._uids[position] for position in sorted(self._deleted)]
        for start in range(0, len(uids), _CHUNK):
            chunk = uids[start : start + _CHUNK]
            for message in self._desk.numbers.messages(chunk).values():
                self._desk.mailbox.delete(message.id)

    def _position(self, argument: str) -> int:
        number = argument.strip()
        position = int(number) - 1 if _NUMBER.fullmatch(number) else -1
        if not 0 <= position < len(self._uids) or position in self._deleted:
            raise Pop3Error("no such message")
        return position

    async def _message_id(self, position: int) -> str:
        uid = self._uids[position]
        messages = await self._desk.run(self._desk.numbers.messages, [uid])
        if uid not in messages:
            raise Pop3Error("the message was deleted meanwhile")
        return messages[uid].id

    async def _send_content(self, position: int, most: int | None = None) -> None:
        """Send a message, or its header section and at most so many lines."""
        message_id = await self._message_id(position)
        async with self._desk.room(self._sizes[position]):
            text = await self._desk.run(self._text, message_id, most)
            if text is None:
                raise Pop3Error("the message was deleted meanwhile")
            self._say(f"+OK {self._sizes[position]} octets" if most is None else "+OK top follows")
            await self._connection.send(text)

    def _text(self, message_id: str, most: int | None) -> bytes | None:
        content = self._desk.content(message_id)
        if content is None:
            return None
        return transferred(content if most is None else top_of(content, most))

    def _say(self, line: str) -> None:
        self._connection.write(line.encode() + b"\r\n")


_Command = Callable[[Pop3Session, str], Awaitable[None]]

_BEFORE_LOGIN: dict[str, _Command] = {
    "CAPA": Pop3Session._capabilities,
    "USER": Pop3Session._user,
    "PASS": Pop3Session._password,
    "AUTH": Pop3Session._authenticate,
    "STLS": Pop3Session._start_tls,
    "QUIT": Pop3Session._quit,
}
_IN_TRANSACTION: dict[str, _Command] = {
    "CAPA": Pop3Session._capabilities,
    "STAT": Pop3Session._status,
    "LIST": Pop3Session._list,
    "UIDL": Pop3Session._unique_ids,
    "RETR": Pop3Session._retrieve,
    "TOP": Pop3Session._top,
    "DELE": Pop3Session._delete,
    "NOOP": Pop3Session._nothing,
    "RSET": Pop3Session._reset,
    "QUIT": Pop3Session._quit,
}
