"""Implement the commands of a mail transaction (RFC 5321 3.3, 1870, 3030, 6152, 6531).

A message arrives after DATA, or in the chunks of BDAT. It gets 250 only after the service has
stored it. Whatever becomes of a chunk, all its octets are read: they never run as commands.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from typing import Any, TypeVar

from chalicelib.inbound_domains.model import InboundDomain
from relay import replies
from relay.backend import SubmittedEnvelope
from relay.command_arguments import parse_chunk, parse_mail, parse_recipient
from relay.conversation import Conversation
from relay.errors import SmtpRefusal
from relay.line_ends import LineEnds
from relay.message_content import MessageContent
from relay.message_data import MessageData
from relay.server_context import ServerContext

T = TypeVar("T")


class Transaction(Conversation):
    """A conversation that takes messages, one after the other."""

    #: Whom the client sends for, as the service says; None before a login
    identity: Any = None
    messages = 0

    def __init__(self, context: ServerContext, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(context, loop)
        self._declared_size = 0
        self._octets_here = 0
        self._places: list[InboundDomain | None] = []
        self._content: MessageContent | None = None
        self._arriving: SubmittedEnvelope | None = None

    def between_messages(self) -> bool:
        """Tell whether no message is under way."""
        return self.envelope.mail_from is None

    def forget_message(self) -> None:
        """Forget the message under way, and release what has arrived of it."""
        if self._content is not None:
            self._content.close()
        self._count_out()
        self._content = self._arriving = None
        self._places = []
        self._declared_size = 0
        super()._set_rset_state()

    def _set_rset_state(self) -> None:
        self.forget_message()

    async def smtp_MAIL(self, argument: str) -> None:
        """Start a message."""
        if not self.session.host_name and not self.config.lenient:
            raise SmtpRefusal(replies.EHLO_FIRST)
        if not self.between_messages():
            raise SmtpRefusal(replies.MAIL_REPEATED)
        if self.messages >= self.config.max_messages:
            raise SmtpRefusal(replies.TOO_MANY_MESSAGES)
        lenient, notices = self.config.lenient, self._ignores_notices()
        mail = parse_mail(argument, lenient=lenient, notices=notices)
        if mail.size > self.config.max_message:
            raise SmtpRefusal(replies.MESSAGE_TOO_BIG)
        if not self.context.traffic.allows_message(self.peer_ip, self.config):
            raise SmtpRefusal(replies.TOO_MANY_FROM_NETWORK)
        self.context.service.check_sender(self.identity, mail.mail_from)
        if self.config.mail_needs_tls and not self.tls_active:
            raise SmtpRefusal(replies.TLS_NEEDED)
        self.envelope.mail_from = mail.mail_from
        self.envelope.smtp_utf8 = mail.smtp_utf8
        self._declared_size = mail.size
        self.reply(replies.SENDER_OK)

    async def smtp_RCPT(self, argument: str) -> None:
        """Add a recipient."""
        if self.between_messages() or self._content is not None:
            raise SmtpRefusal(replies.MAIL_FIRST)
        if len(self.envelope.rcpt_tos) >= self.config.max_recipients:
            raise SmtpRefusal(replies.TOO_MANY_RECIPIENTS)
        lenient, notices = self.config.lenient, self._ignores_notices()
        recipient = parse_recipient(
            argument, self.envelope.smtp_utf8, lenient=lenient, notices=notices
        )
        if not self.context.traffic.allows_recipient(self.peer_ip, self.config):
            raise SmtpRefusal(replies.TOO_MANY_RECIPIENTS_LATELY)
        place = await self.context.service.check_recipient(
            self.run_blocking, self.identity, recipient
        )
        if place is not None:
            if self._declared_size > self.config.max_inbound_message:
                raise SmtpRefusal(replies.MESSAGE_TOO_BIG)
            if not self.context.traffic.allows_domain(place.domain, self.config):
                raise SmtpRefusal(replies.DOMAIN_BUSY)
        self.envelope.rcpt_tos.append(recipient)
        self._places.append(place)
        self.reply(replies.RECIPIENT_OK)

    async def smtp_DATA(self, argument: str) -> None:
        """Read the message and pass it to the service; the envelope is cleared in any case."""
        no_argument(argument)
        if self._content is not None:  # after this, RFC 3030 2 asks for RSET
            self.forget_message()
            raise SmtpRefusal(replies.CHUNKS_BEGUN)
        self._check_recipients()
        self.reply(replies.START_INPUT)
        self._content = self._begin_content()
        data = MessageData(self._content, self._line_ends())
        async with self._time_for_message():
            while (rest := data.feed(await self.next_octets())) is None:
                self._count(data.content)
        self.input.put_back(rest)
        await self._end_message()

    async def smtp_BDAT(self, argument: str) -> None:
        """Read a chunk; the last one passes the message to the service.

        A chunk of a size that cannot be read, or beyond any limit, ends the connection: nobody
        could tell where the next command begins.
        """
        try:
            size, is_last = parse_chunk(argument)
        except SmtpRefusal as refusal:
            self.reply(refusal.reply)
            raise SmtpRefusal(replies.CHUNK_NOT_READ) from None
        if size > self.config.max_message:
            await self._refuse_endless_chunk()
        try:
            self._check_recipients()
        except SmtpRefusal:
            await self._read_chunk(size, None)
            raise
        if self._content is None:
            self._content = self._begin_content(self._line_ends())
        await self._read_chunk(size, self._content)
        if is_last or self._content.is_refused:
            await self._end_message()
        else:
            self.reply(replies.chunk(size))

    async def smtp_RSET(self, argument: str) -> None:
        """Forget the message under way."""
        no_argument(argument)
        self.forget_message()
        self.reply(replies.OK)

    def _ignores_notices(self) -> bool:
        """Tell whether parameters of notices have no effect: senders shall not rely on them."""
        return not self.context.service.takes_logins

    def _check_recipients(self) -> None:
        if self.between_messages():
            raise SmtpRefusal(replies.MAIL_FIRST)
        if not self.envelope.rcpt_tos:
            raise SmtpRefusal(replies.RCPT_FIRST)

    def _line_ends(self) -> LineEnds | None:
        return LineEnds() if self.config.lenient else None

    def _begin_content(self, line_ends: LineEnds | None = None) -> MessageContent:
        """Prepare for the octets of the message; the service adds what it puts in front."""
        self._arriving = self.context.service.begun(self._envelope())
        is_inbound = any(self._places)
        return MessageContent(
            self.config.max_inbound_message if is_inbound else self.config.max_message,
            self.config.max_text_line,
            trace=self._arriving.trace,
            most_in_memory=self.config.max_in_memory,
            line_ends=line_ends,
        )

    def _count(self, content: MessageContent) -> None:
        """Count what has arrived, and refuse the message where that is too much."""
        if not content.is_refused:
            count, self._octets_here = content.size - self._octets_here, content.size
            if not self.context.arriving.add(self.peer_ip, count):
                content.refuse(replies.NO_ROOM)
        if content.is_refused:  # it has released its octets
            self._count_out()

    def _count_out(self) -> None:
        if self._octets_here:
            self.context.arriving.remove(self.peer_ip, self._octets_here)
            self._octets_here = 0

    def _envelope(self) -> SubmittedEnvelope:
        encrypted = self.transport.get_extra_info("ssl_object") if self.tls_active else None
        return SubmittedEnvelope(
            mail_from=self.envelope.mail_from,
            recipients=tuple(self.envelope.rcpt_tos),
            data=b"",
            peer_ip=self.peer_ip,
            smtp_utf8=self.envelope.smtp_utf8,
            places=tuple(self._places),
            helo=self.session.host_name or "",
            tls=(encrypted.version() or "") if encrypted else "",
        )

    @asynccontextmanager
    async def _time_for_message(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self.config.data_seconds):
                yield
        except TimeoutError:
            raise SmtpRefusal(replies.DATA_TOO_SLOW) from None

    async def _read_chunk(self, size: int, content: MessageContent | None) -> None:
        """Read exactly so many octets into the content, or drop them."""
        async with self._time_for_message():
            while size:
                octets = await self.next_octets()
                self.input.put_back(octets[size:])
                part = octets[:size]
                size -= len(part)
                if content is not None:
                    content.add(part)
                    self._count(content)

    async def _refuse_endless_chunk(self) -> None:
        self.reply(replies.MESSAGE_TOO_BIG)
        if self._arriving or self.envelope.rcpt_tos:
            arriving = self._arriving or self.context.service.begun(self._envelope())
            await self._reject(arriving, replies.MESSAGE_TOO_BIG)
        self.forget_message()
        raise SmtpRefusal(replies.CHUNK_NOT_READ)

    async def _end_message(self) -> None:
        self.messages += 1
        try:
            await self._accept()
        except SmtpRefusal as refusal:
            self.context.counters.refused(refusal.reply, self.peer_ip)
            raise
        finally:
            self.forget_message()

    async def _accept(self) -> None:
        started = time.perf_counter()
        content, arriving = self._content, self._arriving
        assert content is not None
        assert arriving is not None
        # The thread that reads the octets releases them, even if the client leaves meanwhile
        self._content = None
        try:
            envelope = replace(arriving, data=content.message())
            message_id = await self._store(envelope, content)
        except SmtpRefusal as refusal:
            content.close()
            await self._reject(arriving, refusal.reply)
            raise
        self.reply(replies.accepted(message_id))
        seconds = time.perf_counter() - started
        self.context.counters.accepted(message_id, arriving, content.size, seconds)

    async def _store(self, envelope: SubmittedEnvelope, content: MessageContent) -> str:
        async def run_and_release(call: Callable[..., T], *arguments: Any) -> T:
            def run() -> T:
                with closing(content):
                    return call(*arguments)

            return await self.run_blocking(run)

        accept = self.context.service.accept
        return await self.during_service_call(accept(run_and_release, self.identity, envelope))

    async def _reject(self, envelope: SubmittedEnvelope, reply: replies.Reply) -> None:
        if reply.code >= 500:
            await self.context.service.rejected(self.run_blocking, envelope, reply)


def no_argument(argument: str) -> None:
    """Raise SmtpRefusal (501) if a command that takes no argument has one."""
    if argument:
        raise SmtpRefusal(replies.NO_ARGUMENT_ALLOWED)
