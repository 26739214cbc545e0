"""Serve a mailbox by POP3 and IMAP, on an event loop in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from infrastructure.local import certificates
from infrastructure.local.mail_readers.choices import ReaderChoices
from infrastructure.local.mail_readers.companion import MailReaders
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.supervisor.listeners import listen
from infrastructure.local.this_machine import LocalAccess
from tests.free_ports import free_port


@dataclass
class Post:
    """A mailbox that mail readers can reach."""

    data_dir: Path
    mailbox: SinkMailbox
    pop3: int
    imap: int

    @cached_property
    def authority(self) -> str:
        """The certificate to trust."""
        return str(certificates.files(self.data_dir).authority)

    def add(self, *messages: bytes, recipient: str = "you@b.test") -> list[str]:
        """Store messages; return their ids."""
        return [self.mailbox.add("me@a.test", recipient, each) for each in messages]


ServePost = Callable[..., Post]


@pytest.fixture(scope="package")
def certificate_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with certificates."""
    data_dir = tmp_path_factory.mktemp("certificates")
    certificates.provide(data_dir)
    return data_dir


@pytest.fixture
def serve_post(tmp_path: Path, certificate_dir: Path) -> Iterator[ServePost]:
    """Starts the servers, with choices."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    servers: list[MailReaders] = []
    mailbox = SinkMailbox(tmp_path / "mail")
    (tmp_path / "tls").symlink_to(certificate_dir / "tls")

    def serve(choices: ReaderChoices | None = None, host: str = "127.0.0.1") -> Post:
        pop3, imap = free_port(), free_port()
        server = MailReaders(
            mailbox,
            tmp_path,
            pop3=listen(host, pop3),
            imap=listen(host, imap),
            choices=choices or ReaderChoices(),
            access=LocalAccess(),
        )
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(10)
        servers.append(server)
        return Post(tmp_path, mailbox, pop3, imap)

    yield serve
    for server in servers:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
    mailbox.close()


@pytest.fixture
def post(serve_post: ServePost) -> Post:
    """A mailbox that any login reads."""
    return serve_post()
