"""Run a client's commands one after the other, and answer refusals and faults.

A refusal is answered; 421 ends the connection, and so do too many 5xx. A failed call of the service
is answered with 451 4.3.0. A fault of the session itself ends the connection, because nobody knows
how much of its input was read. Both are logged with the id that the reply names.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from relay import replies
from relay.connection import ClientGone, Connection
from relay.errors import SmtpRefusal
from relay.replies import Reply
from relay.server_context import ServerContext

logger = logging.getLogger("relay")

T = TypeVar("T")

# Commands of one burst before other connections are served.
_BURST = 50


class Conversation(Connection):
    """A connection that runs commands; the subclass defines them."""

    def __init__(self, context: ServerContext, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(context, loop)
        self._errors = 0
        self._commands = 0
        self._may_end = False
        self._in_service_call = False
        self._finishing = False
        self._given_up = False

    async def serve(self, line: bytes) -> None:
        """Run one command line; raises Refusal."""
        raise NotImplementedError

    def forget_message(self) -> None:
        """Forget the message under way, and release what has arrived of it."""
        raise NotImplementedError

    def between_messages(self) -> bool:
        """Tell whether no message is under way."""
        raise NotImplementedError

    def finish(self) -> None:
        """End after the message under way, at once when there is none."""
        self._finishing = True
        if self._may_end and self.between_messages():
            self.close_with(replies.SHUTTING_DOWN)

    def give_up(self) -> None:
        """End now, but after the reply to a message that is being stored.

        Without the reply the client would send the message again.
        """
        self._finishing = self._given_up = True
        if self.in_handshake:
            self.abort()
        elif not self._in_service_call:
            self.close_with(replies.SHUTTING_DOWN)

    async def run_blocking(self, call: Callable[..., T], *arguments: Any) -> T:
        """Run a blocking call in a worker thread; raises Refusal and nothing else."""
        return await self.during_service_call(
            self.loop.run_in_executor(self.context.workers, call, *arguments)
        )

    async def during_service_call(self, call: Awaitable[T]) -> T:
        """Await a call of the service; raises Refusal and nothing else.

        The client waits for it, and so does the end of the relay.
        """
        self.stop_idle_time()
        self._in_service_call = True
        try:
            return await call
        except SmtpRefusal:
            raise
        except Exception as error:
            raise SmtpRefusal(replies.fault(self._write_fault(error))) from error
        finally:
            self._in_service_call = False

    async def _handle_client(self) -> None:
        try:
            await self._converse()
        except (ClientGone, OSError):
            pass
        except Exception as error:
            self.close_with(replies.internal_fault(self._write_fault(error)))
        finally:
            self.forget_message()
            self.hang_up()

    async def _converse(self) -> None:
        if self.refusal is not None:
            self.context.counters.connections_refused += 1
            self.close_with(self.refusal)
            return
        self.reply(replies.greeting(self.hostname))
        while not self.closing:
            try:
                await self.serve(await self._next_command())
            except SmtpRefusal as refusal:
                self._refuse(refusal.reply)
            if self._given_up or (self._finishing and self.between_messages()):
                self.close_with(replies.SHUTTING_DOWN)

    async def _next_command(self) -> bytes:
        self._commands += 1
        if self._commands % _BURST == 0:
            await self.send_replies()
            await asyncio.sleep(0)
        return await self._unless_finished(self.next_line())

    async def pause(self, seconds: float) -> None:
        """Let the client wait for its reply. This holds no thread, and the relay's end ends it."""
        self.stop_idle_time()
        await self.send_replies()
        await self._unless_finished(self.context.failed_logins.sleep(seconds))

    async def _unless_finished(self, wait: Awaitable[T]) -> T:
        """Wait for something at which a client between messages can be sent away."""
        self._may_end = True
        try:
            return await wait
        finally:
            self._may_end = False

    def _refuse(self, reply: Reply) -> None:
        if reply.code == 421:
            self.close_with(reply)
            return
        self.reply(reply)
        if reply.code >= 500:
            self._errors += 1
            if self._errors >= self.config.max_errors:
                self.close_with(replies.TOO_MANY_ERRORS)

    def _write_fault(self, error: Exception) -> str:
        fault_id = secrets.token_hex(6)
        self.context.counters.faults += 1
        logger.error(
            "relay fault",
            exc_info=error,
            extra={"fault_id": fault_id, "peer_ip": self.peer_ip},
        )
        return fault_id
