"""Serve one client of IMAP4rev1 (RFC 3501).

The mailboxes are made by what comes in: nothing can be uploaded, copied, or renamed. Messages can
be flagged and deleted. Besides, there are IDLE (RFC 2177), NAMESPACE (2342), ID (2971), UNSELECT
(3691), UIDPLUS (4315), SASL-IR (4959), and LITERAL+ (7888).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from infrastructure.local.mail_readers import imap_login
from infrastructure.local.mail_readers import imap_mail_commands as mail
from infrastructure.local.mail_readers.connection import Connection, LineTooLong
from infrastructure.local.mail_readers.desk import ReadingDesk
from infrastructure.local.mail_readers.imap_mailboxes import Mailboxes, quoted
from infrastructure.local.mail_readers.imap_reader import Command, read_command
from infrastructure.local.mail_readers.imap_replies import CANNOT, No, write_changes, write_selected
from infrastructure.local.mail_readers.imap_selection import Selection
from infrastructure.local.mail_readers.imap_syntax import BadCommand, Scanner
from infrastructure.local.mail_readers.logins import (
    MOST_OCTETS,
)
from infrastructure.local.mailbox.rows import Condition

_CAPABILITIES = "IMAP4rev1 LITERAL+ SASL-IR ID IDLE NAMESPACE UNSELECT UIDPLUS CHILDREN"
_LOGINS = "AUTH=PLAIN AUTH=LOGIN"
_MOST_BAD = 20
#: How often an idle client is told what is new
_NEWS_SECONDS = 0.5
_MOST_IDLE_SECONDS = 1800.0
_STATUS_ITEMS = ("MESSAGES", "RECENT", "UIDNEXT", "UIDVALIDITY", "UNSEEN")
#: While these are answered, no message may go (RFC 3501 7.4.1)
_KEEP_POSITIONS = ("FETCH", "STORE", "SEARCH")


class ImapSession:
    """A session; `is_over` after LOGOUT."""

    def __init__(self, connection: Connection, desk: ReadingDesk) -> None:
        self.connection = connection
        self.desk = desk
        self.mailboxes: Mailboxes | None = None
        self.selection: Selection | None = None
        self.is_over = False
        self.failures = 0
        self._bad = 0

    @classmethod
    async def serve(cls, connection: Connection, desk: ReadingDesk) -> None:
        """Serve a client until it leaves."""
        session = cls(connection, desk)
        session.say(f"* OK [CAPABILITY {session.capabilities()}] Postfinch IMAP server")
        while not session.is_over:
            await session.next_command()

    def say(self, line: str) -> None:
        """Write a line."""
        self.connection.write(line.encode() + b"\r\n")

    def selected(self) -> Selection:
        """Return the selected mailbox; raises BadCommand if there is none."""
        if self.selection is None:
            raise BadCommand("select a mailbox first")
        return self.selection

    async def next_command(self) -> None:
        """Do the next command of the client."""
        tag = "*"
        try:
            command = await read_command(self.connection)
            tag = command.tag
            if command.name == "STARTTLS":
                return await self._start_tls(tag)
            text = await self._do(command)
            if self.selection is not None and command.name not in _KEEP_POSITIONS:
                await self._tell_changes(self.selection)
            self._bad = 0
            self.say(f"{tag} OK {text or command.name + ' completed'}")
        except No as no:
            self.say(f"{tag} NO {no}")
        except BadCommand as error:
            self._bad += 1
            self.say(f"{tag} BAD {error}")
            if self._bad >= _MOST_BAD:
                self.end("too many errors")
        except LineTooLong:
            self.say(f"{tag} BAD the line is too long")

    async def _do(self, command: Command) -> str | None:
        scanner = Scanner(command.arguments)
        if do := _ANYTIME.get(command.name):
            return await do(self, scanner)
        if self.mailboxes is None:
            if do := _BEFORE_LOGIN.get(command.name):
                return await do(self, scanner)
            raise BadCommand("log in first, or no such command")
        if do := _AFTER_LOGIN.get(command.name):
            return await do(self, scanner)
        raise BadCommand("no such command")

    def end(self, reason: str) -> None:
        """Say why the session is over."""
        self.say(f"* BYE {reason}")
        self.is_over = True

    async def _tell_changes(self, selection: Selection) -> None:
        if changes := await self.desk.run(selection.refresh):
            await write_changes(self.connection, selection, changes)

    # At any time

    def capabilities(self) -> str:
        """Return what the server can do at this point of the session."""
        names = [_CAPABILITIES]
        if not self.connection.is_secure:
            names.append("STARTTLS")
        if self.mailboxes is None:
            names.append(_LOGINS)
        return " ".join(names)

    async def _show_capabilities(self, _: Scanner) -> None:
        self.say(f"* CAPABILITY {self.capabilities()}")

    async def _nothing(self, _: Scanner) -> None:
        """Do nothing: what is new is told after every command."""

    async def _log_out(self, _: Scanner) -> None:
        self.selection = None
        self.end("goodbye")

    async def _identify(self, _: Scanner) -> None:
        self.say('* ID ("name" "Postfinch")')

    # Before a login

    async def _start_tls(self, tag: str) -> None:
        if self.connection.is_secure or self.mailboxes:
            raise BadCommand("TLS is on already, or too late")
        self.say(f"{tag} OK begin TLS")
        await self.connection.start_tls(self.desk.tls)

    # After it

    def _own(self) -> Mailboxes:
        assert self.mailboxes is not None
        return self.mailboxes

    async def _scope(self, octets: bytes) -> tuple[str, list[Condition]]:
        scope = await self.desk.run(self._own().scope, octets)
        if scope is None:
            raise No("there is no such mailbox", "NONEXISTENT")
        return scope

    async def _select(self, scanner: Scanner) -> str:
        return await self._open(scanner, is_read_only=False)

    async def _examine(self, scanner: Scanner) -> str:
        return await self._open(scanner, is_read_only=True)

    async def _open(self, scanner: Scanner, *, is_read_only: bool) -> str:
        octets = scanner.astring()
        scanner.end()
        self.selection = None
        name, scope = await self._scope(octets)
        self.selection = await self.desk.run(
            Selection, self.desk, name, scope, is_read_only=is_read_only
        )
        await self.desk.run(write_selected, self.connection, self.desk, self.selection)
        return f"[READ-{'ONLY' if is_read_only else 'WRITE'}] selected"

    async def _list(self, scanner: Scanner) -> None:
        await self._write_list("LIST", scanner)

    async def _list_subscribed(self, scanner: Scanner) -> None:
        await self._write_list("LSUB", scanner)

    async def _write_list(self, word: str, scanner: Scanner) -> None:
        reference = scanner.astring()
        scanner.expect(b" ")
        pattern = scanner.pattern()
        scanner.end()
        for line in await self.desk.run(self._own().listing, word, reference, pattern):
            self.connection.write(line)
            await self.connection.flush_much()

    async def _status(self, scanner: Scanner) -> None:
        octets = scanner.astring()
        scanner.expect(b" (")
        items = [scanner.atom()]
        while scanner.skips(b" "):
            items.append(scanner.atom())
        scanner.expect(b")")
        scanner.end()
        if unknown := set(items) - set(_STATUS_ITEMS):
            raise BadCommand(f"there is no item {min(unknown)}")
        name, scope = await self._scope(octets)
        values = await self.desk.run(self._status_values, scope)
        text = " ".join(f"{each} {values[each]}" for each in items)
        self.connection.write(b"* STATUS %b (%b)\r\n" % (quoted(name), text.encode()))

    def _status_values(self, scope: list[Condition]) -> dict[str, int]:
        numbers = self.desk.numbers
        sums = numbers.sums(scope)
        values = (sums.messages, 0, numbers.next_uid(), numbers.validity(), sums.unread)
        return dict(zip(_STATUS_ITEMS, values, strict=True))

    async def _namespace(self, _: Scanner) -> None:
        self.say('* NAMESPACE (("" "/")) NIL NIL')

    async def _subscribe(self, scanner: Scanner) -> None:
        await self._scope(scanner.astring())

    async def _cannot(self, _: Scanner) -> None:
        raise No("mailboxes are made by the mail that comes", CANNOT)

    async def _idle(self, _: Scanner) -> None:
        self.say("+ idling")
        loop = asyncio.get_running_loop()
        end = loop.time() + _MOST_IDLE_SECONDS
        while not await self.connection.has_input(_NEWS_SECONDS):
            if loop.time() > end:
                self.selection = None
                return self.end("idle for too long")
            if self.selection is not None:
                await self._tell_changes(self.selection)
        if (await self.connection.line(MOST_OCTETS)).upper() != b"DONE":
            raise BadCommand("DONE expected")

    async def _unselect(self, _: Scanner) -> None:
        self.selected()
        self.selection = None

    async def _close(self, _: Scanner) -> None:
        selection = self.selected()
        if not selection.is_read_only:
            await self.desk.run(mail.delete_flagged, self.desk, selection, None)
        self.selection = None


_Do = Callable[[ImapSession, Scanner], Awaitable[str | None]]

_ANYTIME: dict[str, _Do] = {
    "CAPABILITY": ImapSession._show_capabilities,
    "NOOP": ImapSession._nothing,
    "LOGOUT": ImapSession._log_out,
    "ID": ImapSession._identify,
}
_BEFORE_LOGIN: dict[str, _Do] = {
    "LOGIN": imap_login.by_name,
    "AUTHENTICATE": imap_login.by_sasl,
}
_AFTER_LOGIN: dict[str, _Do] = {
    "SELECT": ImapSession._select,
    "EXAMINE": ImapSession._examine,
    "LIST": ImapSession._list,
    "LSUB": ImapSession._list_subscribed,
    "STATUS": ImapSession._status,
    "NAMESPACE": ImapSession._namespace,
    "SUBSCRIBE": ImapSession._subscribe,
    **dict.fromkeys(
        ("UNSUBSCRIBE", "CREATE", "DELETE", "RENAME", "APPEND", "COPY", "UID COPY"),
        ImapSession._cannot,
    ),
    "IDLE": ImapSession._idle,
    "CHECK": ImapSession._nothing,
    "UNSELECT": ImapSession._unselect,
    "CLOSE": ImapSession._close,
    "EXPUNGE": mail.expunge,
    "UID EXPUNGE": mail.expunge_by_uid,
    "FETCH": mail.fetch,
    "UID FETCH": mail.fetch_by_uid,
    "STORE": mail.store,
    "UID STORE": mail.store_by_uid,
    "SEARCH": mail.search,
    "UID SEARCH": mail.search_by_uid,
}
