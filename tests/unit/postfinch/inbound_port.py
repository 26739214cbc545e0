"""Take mail on a port of this process, in place of the inbound port of a service."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiosmtpd.controller import Controller

from tests.free_ports import free_port

ID = "0123456789abcdef01234567"


@dataclass
class InboundPort:
    """The port, and the messages that it took."""

    number: int
    nobody: Collection[str]
    messages: list[bytes] = field(default_factory=list)

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        """Refuse some recipients."""
        if address in self.nobody:
            return "550 5.1.1 No such address"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Recipient OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        """Take a message."""
        self.messages.append(envelope.content)
        return f"250 2.0.0 OK {ID}"


@contextmanager
def inbound_port(nobody: Collection[str] = ()) -> Iterator[InboundPort]:
    """Serve a port that knows none of the recipients in ``nobody``."""
    port = InboundPort(free_port(), nobody)
    controller = Controller(port, hostname="127.0.0.1", port=port.number)
    controller.start()
    try:
        yield port
    finally:
        controller.stop()
