"""Post the summary of each new message to the URL that the user chose, as Mailpit does.

- Only what arrives while the service runs is told, each message once, in order. What the target
  answers is not waited for longer than some seconds, and nothing is posted again.
- Of messages that follow each other closely, only the first one is told (the interval).
- A target that is slower than the mail misses messages, with a line in the log.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any, Final, Protocol

from chalicelib.core import clock, web_fetch
from chalicelib.core.web_fetch import FetchFailed, Response
from infrastructure.local.mailbox.rows import Row
from infrastructure.local.mailpit import VERSION
from infrastructure.local.mailpit.messages import Messages
from infrastructure.local.mailpit.webhook_choices import WebhookChoices

#: Between two looks at the mailbox, in seconds
INTERVAL: Final = 0.1
#: Of more messages that wait, only those that come later are told
MOST_WAITING: Final = 1000
TIMEOUT: Final = 5.0

log = logging.getLogger(__name__)


class Post(Protocol):
    """Posts a body, as :func:`web_fetch.post` does."""

    def __call__(
        self, url: str, body: bytes, headers: dict[str, str], *, timeout: float, private: bool
    ) -> Response:
        """Return the response; raises FetchFailed."""


class Webhook:
    """A companion of the gateway that tells a target of new messages."""

    def __init__(
        self,
        messages: Messages,
        choices: WebhookChoices | None,
        *,
        label: str = "",
        post: Post = web_fetch.post,
    ) -> None:
        self._messages = messages
        self._choices = choices
        self._label = label
        self._post = post
        self._index = messages.mailbox.index
        self._newest = self._index.newest() if choices else 0
        self._version: Any = None
        self._last = 0.0
        self._task: asyncio.Task[None] | None = None
        self._ends = False

    async def start(self) -> None:
        """Begin, if there is a target."""
        if self._choices:
            self._task = asyncio.create_task(self._run(self._choices))

    async def stop(self) -> None:
        """End after the message that is being posted."""
        self._ends = True
        if self._task:
            self._task.cancel()

    async def _run(self, choices: WebhookChoices) -> None:
        while True:
            try:
                await asyncio.to_thread(self.step, choices)
            except Exception:
                log.exception("the webhook of the mailbox misses some messages")
            await asyncio.sleep(INTERVAL)

    def step(self, choices: WebhookChoices) -> None:
        """Tell of the messages that came since the last call."""
        version = self._index.version()
        if version == self._version:
            return
        # Their tags are among what is told
        self._messages.prepare([])
        rows = self._index.rows_after(self._newest, MOST_WAITING + 1)
        if len(rows) > MOST_WAITING:
            log.warning("the webhook of the mailbox is too slow, and misses %d messages", len(rows))
            self._newest = rows[-1].uid
            return
        for row in rows:
            if self._ends or _arrival(row) + choices.delay > clock.now():
                return
            self._newest = row.uid
            self._tell(row, choices)
        self._version = version

    def _tell(self, row: Row, choices: WebhookChoices) -> None:
        arrival = _arrival(row)
        if arrival < self._last + choices.interval:
            return
        for summary in self._messages.summaries([row]):
            self._last = arrival
            self._send(summary, choices)

    def _send(self, summary: dict[str, Any], choices: WebhookChoices) -> None:
        headers = {"User-Agent": f"Mailpit/{VERSION}", "Content-Type": "application/json"}
        if choices.authorization:
            headers["Authorization"] = choices.authorization
        if self._label:
            headers["Mailpit-Label"] = self._label.encode("ascii", "replace").decode()
        body = json.dumps(summary, ensure_ascii=False).encode("utf-8", "replace")
        try:
            # The user named the host, which may be any
            response = self._post(choices.url, body, headers, timeout=TIMEOUT, private=True)
        except FetchFailed as error:
            log.warning("the webhook of the mailbox was not reached: %s", error)
            return
        if not 200 <= response.status < 300:
            log.warning("the webhook of the mailbox answered %d", response.status)


def _arrival(row: Row) -> float:
    """Return when a message came, in seconds."""
    return float(f"{row.id[:10]}.{row.id[12:18]}")
