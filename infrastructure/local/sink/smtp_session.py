"""The receiving side of one SMTP connection (RFC 5321), speaking to a `Receiver`.

Offers PIPELINING, SIZE, 8BITMIME, SMTPUTF8 and ENHANCEDSTATUSCODES. Strict, so that faults of
the sending side show: only CRLF ends a line or a message, and bare CR or LF is refused. Sizes,
lines, recipients and idle time are bounded.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

HOSTNAME = "sink.postfinch.test"
CHUNK = 256 * 1024
MAX_COMMAND = 4096
MAX_RECIPIENTS = 1000

_PATH = re.compile(r'\s*<((?:"(?:[^"\\]|\\.)*"|[^<>"\s])*)>((?:\s+\S+)*)\s*')
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_PARAMETERS = {"SIZE", "BODY", "SMTPUTF8"}


@dataclass(slots=True)
class Envelope:
    """One mail transaction. `sender` is "" for the null return path."""

    sender: str
    recipients: list[str] = field(default_factory=list)
    message: bytes = b""


class Receiver(Protocol):
    """What decides about mail. Replies are whole SMTP reply lines without their CRLF."""

    def refuse_recipient(self, recipient: str) -> str | None:
        """The reply that refuses the recipient, or None to accept it."""

    async def receive(self, envelope: Envelope) -> str:
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
        """`max_size` is in bytes; `reader` must have been made with the limit `CHUNK`."""
        self._reader = reader
        self._writer = writer
        self._receiver = receiver
        self._max_size = max_size
        self._idle_seconds = idle_seconds
        self._greeted = False
        self._open = True
        self._envelope: Envelope | None = None
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
        except asyncio.LimitOverrunError:
            self._reply("500 5.5.2 Line too long")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client left
        finally:
            self._writer.close()

    async def _converse(self) -> None:
        self._reply(f"220 {HOSTNAME} ESMTP")
        while self._open:
            await self._writer.drain()
            self._reply(await self._answer(await self._read_until(b"\r\n")))

    async def _answer(self, line: bytes) -> str:
        if len(line) > MAX_COMMAND:
            return "500 5.5.2 Line too long"
        try:
            verb, _, argument = line[:-2].decode().partition(" ")
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
        self._envelope = Envelope(sender)
        return "250 2.1.0 Ok"

    async def _rcpt(self, argument: str) -> str:
        if self._envelope is None:
            return "503 5.5.1 MAIL first"
        path = _path_after("TO:", argument)
        if path is None or "@" not in path[0]:
            return "501 5.1.3 Syntax: RCPT TO:<address>"
        if len(self._envelope.recipients) >= MAX_RECIPIENTS:
            return "452 4.5.3 Too many recipients"
        if refusal := self._receiver.refuse_recipient(path[0]):
            return refusal
        self._envelope.recipients.append(path[0])
        return "250 2.1.5 Ok"

    async def _data(self, argument: str) -> str:
        if self._envelope is None:
            return "503 5.5.1 MAIL first"
        if not self._envelope.recipients:
            return "554 5.5.1 No valid recipients"
        self._reply("354 End with <CRLF>.<CRLF>")
        content = await self._read_content()
        envelope, self._envelope = self._envelope, None
        if content is None:
            return "552 5.3.4 Message too big"
        if not content.count(b"\r\n") == content.count(b"\r") == content.count(b"\n"):
            return "550 5.5.2 Bare CR or LF in message"
        envelope.message = content
        return await self._receiver.receive(envelope)

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

    async def _read_content(self) -> bytes | None:
        """The message, dots unstuffed (RFC 5321 4.5.2); None when it was larger than allowed."""
        content, too_big = bytearray(), False
        # Reading up to ".CRLF" rather than "CRLF.CRLF" also finds the end of an empty message.
        while content != b".\r\n" and not content.endswith(b"\r\n.\r\n"):
            if len(content) > self._max_size:
                too_big = True
                del content[:-4]  # the end may lie across two chunks
            content += await self._read_chunk()
        if too_big or len(content) > self._max_size + 3:
            return None
        del content[-3:]
        return bytes(content.removeprefix(b".").replace(b"\r\n.", b"\r\n"))

    async def _read_chunk(self) -> bytes:
        try:
            return await self._read_until(b".\r\n")
        except asyncio.LimitOverrunError as overrun:
            return await self._reader.readexactly(overrun.consumed)

    async def _read_until(self, separator: bytes) -> bytes:
        async with asyncio.timeout(self._idle_seconds):
            return await self._reader.readuntil(separator)

    def _reply(self, reply: str) -> None:
        self._writer.write(reply.encode() + b"\r\n")


def _path_after(keyword: str, argument: str) -> tuple[str, dict[str, str]] | None:
    """The address and parameters of MAIL or RCPT; None when they are not well formed."""
    if argument[: len(keyword)].upper() != keyword:
        return None
    found = _PATH.fullmatch(argument, len(keyword))
    if found is None:
        return None
    pairs = (parameter.partition("=") for parameter in found[2].split())
    return found[1], {name.upper(): value for name, _, value in pairs}
