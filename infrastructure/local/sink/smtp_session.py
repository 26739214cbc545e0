"""Speak the receiving side of one SMTP connection (RFC 5321) to a `Receiver`.

Lines and messages are read by the relay's own framing: only CRLF ends a line or a message, and a
bare CR or LF is refused, so that faults of the sending side show. The session offers PIPELINING,
SIZE, 8BITMIME, SMTPUTF8 and ENHANCEDSTATUSCODES. Sizes, lines, recipients and idle time are
bounded.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from infrastructure.local.sink.failure_rules import CONNECT, DATA, DOT, MAIL, RCPT, FailureRule
from relay.errors import SmtpRefusal
from relay.input_buffer import InputBuffer
from relay.message_content import MessageContent
from relay.message_data import MessageData
from relay.replies import BARE_LINE_END

HOSTNAME = "sink.postfinch.test"
CHUNK = 256 * 1024
MAX_COMMAND = 4096
MAX_RECIPIENTS = 1000

_PATH = re.compile(r'\s*<((?:"(?:[^"\\]|\\.)*"|[^<>"\s])*)>((?:\s+\S+)*)\s*')
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PARAMETERS = {"SIZE", "BODY", "SMTPUTF8"}


@dataclass(slots=True)
class SinkEnvelope:
    """One mail transaction. `sender` is "" for the null return path."""

    sender: str
    recipients: list[str] = field(default_factory=list)
    message: bytes = b""


class Receiver(Protocol):
    """The recipient of a session's mail, who accepts or refuses it.

    Replies are whole SMTP reply lines without their CRLF.
    """

    def refuse_recipient(self, recipient: str) -> str | None:
        """The reply that refuses the recipient, or None to accept it."""

    def failure(self, step: str, addresses: Sequence[str]) -> FailureRule | None:
        """The rule that makes this step fail for one of the addresses, or None."""

    async def receive(self, envelope: SinkEnvelope) -> str:
        """Take the message and give the reply to its DATA."""


class SmtpSession:
    """Serves one connection until QUIT, end of input, silence, or cancellation (421)."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        receiver: Receiver,
        *,
        max_size: int,
        idle_seconds: float,
    ) -> None:
        """`max_size` is in bytes."""
        self._reader = reader
        self._writer = writer
        self._input = InputBuffer()
        self._replies: list[str] = []
        self._receiver = receiver
        self._max_size = max_size
        self._idle_seconds = idle_seconds
        self._greeted = False
        self._open = True
        self._envelope: SinkEnvelope | None = None
        self._commands: dict[str, Callable[[str], Awaitable[str]]] = {
            "EHLO": self._ehlo,
            "HELO": self._helo,
            "MAIL": self._mail,
            "RCPT": self._rcpt,
            "DATA": self._data,
            "RSET": self._rset,
            "NOOP": self._noop,
            "VRFY": self._vrfy,
            "QUIT": self._quit,
        }

    async def run(self) -> None:
        """Hold the conversation and close the connection."""
        try:
            await self._converse()
        except TimeoutError:
            self._reply("421 4.4.2 Idle for too long")
        except asyncio.CancelledError:
            self._reply("421 4.3.2 Shutting down")
            raise
        except ConnectionError:
            pass  # the client left
        finally:
            self._send_replies()
            self._writer.close()

    async def _converse(self) -> None:
        if failure := await self._failure(CONNECT, ""):
            self._reply(failure)
            return
        self._reply(f"220 {HOSTNAME} ESMTP")
        while self._open:
            try:
                self._reply(await self._answer(await self._next_line()))
            except SmtpRefusal as refusal:
                self._reply(str(refusal))
                self._open = refusal.reply.code != 421

    async def _answer(self, line: bytes) -> str:
        try:
            verb, _, argument = line.decode().partition(" ")
        except UnicodeDecodeError:
            return "500 5.5.2 Not UTF-8"
        command = self._commands.get(verb.upper())
        if command is None:
            return "500 5.5.1 Unknown command"
        if _CONTROL.search(argument):
            return "501 5.5.4 Control character in command"
        return await command(argument)

    async def _ehlo(self, argument: str) -> str:
        await self._helo(argument)
        lines = [HOSTNAME, "PIPELINING", f"SIZE {self._max_size}", "8BITMIME", "SMTPUTF8"]
        return "\r\n".join([*(f"250-{line}" for line in lines), "250 ENHANCEDSTATUSCODES"])

    async def _helo(self, argument: str) -> str:
        self._greeted, self._envelope = True, None
        return f"250 {HOSTNAME}"

    async def _mail(self, argument: str) -> str:
        if not self._greeted or self._envelope:
            return "503 5.5.1 Bad sequence of commands"
        path = _path_after("FROM:", argument)
        if path is None:
            return "501 5.5.4 Syntax: MAIL FROM:<address>"
        sender, parameters = path
        if unknown := parameters.keys() - _PARAMETERS:
            return f"555 5.5.4 Unknown parameter {sorted(unknown)[0]}"
        size = parameters.get("SIZE", "0")
        if not re.fullmatch("[0-9]{1,20}", size):
            return "501 5.5.4 SIZE needs a number"
        if int(size) > self._max_size:
            return "552 5.3.4 Message too big"
        if failure := await self._failure(MAIL, sender):
            return failure
        self._envelope = SinkEnvelope(sender)
        return "250 2.1.0 Ok"

    async def _rcpt(self, argument: str) -> str:
        if self._envelope is None:
            return "503 5.5.1 MAIL first"
        path = _path_after("TO:", argument)
        if path is None or "@" not in path[0]:
            return "501 5.1.3 Syntax: RCPT TO:<address>"
        if len(self._envelope.recipients) >= MAX_RECIPIENTS:
            return "452 4.5.3 Too many recipients"
        if failure := await self._failure(RCPT, path[0]):
            return failure
        if refusal := self._receiver.refuse_recipient(path[0]):
            return refusal
        self._envelope.recipients.append(path[0])
        return "250 2.1.5 Ok"

    async def _data(self, argument: str) -> str:
        if self._envelope is None:
            return "503 5.5.1 MAIL first"
        if not self._envelope.recipients:
            return "554 5.5.1 No valid recipients"
        if failure := await self._failure(DATA, *self._envelope.recipients):
            return failure
        self._reply("354 End with <CRLF>.<CRLF>")
        data = await self._read_message()
        envelope, self._envelope = self._envelope, None
        try:
            envelope.message = data.content.message()[:]
        except SmtpRefusal as refusal:
            if refusal.reply == BARE_LINE_END:
                return "550 5.5.2 Bare CR or LF in message"
            raise
        if failure := await self._failure(DOT, *envelope.recipients):
            return failure
        return await self._receiver.receive(envelope)

    async def _failure(self, step: str, *addresses: str) -> str | None:
        """The reply with which a rule makes this step fail, None where it goes on."""
        rule = self._receiver.failure(step, addresses)
        if rule is None:
            return None
        if rule.delay:
            self._send_replies()
            await asyncio.sleep(rule.delay)
        if rule.code is None:
            raise ConnectionAbortedError
        self._open = self._open and rule.code != 421
        return rule.reply or None

    async def _rset(self, argument: str) -> str:
        self._envelope = None
        return "250 2.0.0 Ok"

    async def _noop(self, argument: str) -> str:
        return "250 2.0.0 Ok"

    async def _vrfy(self, argument: str) -> str:
        return "252 2.5.0 Send some mail and see"

    async def _quit(self, argument: str) -> str:
        self._open = False
        return "221 2.0.0 Bye"

    async def _next_line(self) -> bytes:
        """The next command line without its CRLF; raises Refusal for one that is not acceptable."""
        while (line := self._input.line(MAX_COMMAND)) is None:
            self._input.feed(await self._read())
        return line

    async def _read_message(self) -> MessageData:
        data = MessageData(MessageContent(self._max_size, None))
        while (rest := data.feed(self._input.take() or await self._read())) is None:
            pass
        self._input.put_back(rest)
        return data

    async def _read(self) -> bytes:
        """At least one octet; raises ConnectionError when the client has left."""
        self._send_replies()
        await self._writer.drain()
        async with asyncio.timeout(self._idle_seconds):
            octets = await self._reader.read(CHUNK)
        if not octets:
            raise ConnectionResetError
        return octets

    def _reply(self, reply: str) -> None:
        self._replies.append(reply)

    def _send_replies(self) -> None:
        """Send the replies to all commands that came together in one write (RFC 2920 3.2)."""
        if self._replies:
            self._writer.write("\r\n".join([*self._replies, ""]).encode())
            self._replies.clear()


def _path_after(keyword: str, argument: str) -> tuple[str, dict[str, str]] | None:
    """The address and parameters of MAIL or RCPT; None when they are not well formed."""
    if argument[: len(keyword)].upper() != keyword:
        return None
    match = _PATH.fullmatch(argument, len(keyword))
    if match is None:
        return None
    pairs = (parameter.partition("=") for parameter in match[2].split())
    return match[1], {name.upper(): value for name, _, value in pairs}
