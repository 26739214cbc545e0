"""Listen for mail readers beside the HTTP server, with POP3 on one port and IMAP on another.

A start costs two sockets: the sessions, and what they need, are imported when a client connects.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, TypeVar

from infrastructure.local.mail_readers.choices import ReaderChoices
from infrastructure.local.mail_readers.connection import ClientGone, Connection
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.supervisor.listeners import listening_sockets
from infrastructure.local.this_machine import NOBODY_ELSE, LocalAccess

if TYPE_CHECKING:
    from infrastructure.local.mail_readers.desk import ReadingDesk

T = TypeVar("T")

log = logging.getLogger(__name__)

# RFC 1939 3 and RFC 3501 5.4 ask for at least so many
_POP3_IDLE_SECONDS, _IMAP_IDLE_SECONDS = 600.0, 1800.0
_MOST_CONNECTIONS = 200
_THREADS = 4


class MailReaders:
    """The servers of POP3 and IMAP at sockets that listen; without any, one is not served.

    ``access`` says who besides programs on this machine may read mail.
    """

    def __init__(
        self,
        mailbox: SinkMailbox,
        data_dir: Path,
        *,
        pop3: Sequence[socket] = (),
        imap: Sequence[socket] = (),
        choices: ReaderChoices | None = None,
        access: LocalAccess = NOBODY_ELSE,
    ) -> None:
        self._mailbox = mailbox
        self._data_dir = data_dir
        self._sockets = (pop3, imap)
        self._choices = choices or ReaderChoices()
        self._access = access
        self._servers: list[asyncio.Server] = []
        # In the order in which they came
        self._connections: dict[Connection, None] = {}
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="mail-readers")

    @classmethod
    def of_environment(
        cls, environ: Mapping[str, str], mailbox: SinkMailbox, access: LocalAccess
    ) -> MailReaders:
        """Return the servers of the runtime with this environment."""
        return cls(
            mailbox,
            Path(environ["DATA_DIR"]),
            pop3=listening_sockets(environ, "POP3_PORT"),
            imap=listening_sockets(environ, "IMAP_PORT"),
            choices=ReaderChoices.read(environ),
            access=access,
        )

    async def start(self) -> None:
        """Serve those who connect."""
        loop = asyncio.get_running_loop()
        pop3 = partial(Connection, self._serve_pop3, idle_seconds=_POP3_IDLE_SECONDS)
        imap = partial(Connection, self._serve_imap, idle_seconds=_IMAP_IDLE_SECONDS)
        for sockets, protocol in zip(self._sockets, (pop3, imap), strict=True):
            for each in sockets:
                self._servers.append(await loop.create_server(protocol, sock=each))

    async def stop(self) -> None:
        """Stop listening, and cut the connections off."""
        for server in self._servers:
            server.close()
        tasks = [each.task for each in self._connections if each.task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._pool.shutdown(wait=False, cancel_futures=True)
        if "_desk" in self.__dict__:
            self._desk.close()

    async def _serve_pop3(self, connection: Connection) -> None:
        from infrastructure.local.mail_readers.pop3_session import Pop3Session

        await self._serve(connection, Pop3Session.serve, b"-ERR [SYS/TEMP]")

    async def _serve_imap(self, connection: Connection) -> None:
        from infrastructure.local.mail_readers.imap_session import ImapSession

        await self._serve(connection, ImapSession.serve, b"* BYE")

    async def _serve(
        self,
        connection: Connection,
        serve: Callable[[Connection, ReadingDesk], Awaitable[None]],
        refusal: bytes,
    ) -> None:
        if not self._admits(connection.peer):
            return
        if not self._has_room():
            connection.write(refusal + b" too many connections\r\n")
            return
        self._connections[connection] = None
        try:
            await serve(connection, self._desk)
        except ClientGone:
            pass
        except Exception:
            log.exception("a mail reader is cut off")
        finally:
            self._connections.pop(connection, None)

    def _has_room(self) -> bool:
        """Tell whether one more client may be served; one that does not log in leaves for it."""
        if len(self._connections) < _MOST_CONNECTIONS:
            return True
        idle = next((each for each in self._connections if not each.is_logged_in), None)
        if idle is None:
            return False
        del self._connections[idle]
        idle.abort()
        return True

    def _admits(self, peer: str) -> bool:
        if not peer:
            return False
        address = ip_address(peer)
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return self._access.admits_peer(str(address))

    @cached_property
    def _desk(self) -> ReadingDesk:
        from infrastructure.local.mail_readers.desk import ReadingDesk

        return ReadingDesk.open(self._mailbox, self._data_dir, self._choices, self._pool)
