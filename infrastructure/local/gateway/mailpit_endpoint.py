"""Serve the port of Mailpit's API from its first request on.

Until then nothing of it is imported, so that no start waits for it. Only rules for tags and the
webhook begin with the gateway.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from infrastructure.local.gateway.request_body import Receive, Scope, Send

if TYPE_CHECKING:
    from infrastructure.local.mailpit.assembly import MailpitService


class MailpitEndpoint:
    """The port as an ASGI callable, and its companion; ``build`` puts it together."""

    def __init__(self, build: Callable[[], MailpitService], *, at_start: bool) -> None:
        self._build = build
        self._at_start = at_start
        self._service: MailpitService | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI connection."""
        await self._built().port(scope, receive, send)

    async def start(self) -> None:
        """Begin."""
        if self._at_start:
            await self._built().start()

    async def stop(self) -> None:
        """End."""
        if self._service:
            await self._service.stop()

    def _built(self) -> MailpitService:
        if self._service is None:
            self._service = self._build()
        return self._service
