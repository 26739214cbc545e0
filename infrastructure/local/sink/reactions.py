"""React to accepted mail for `oob`, `complain`, `open`, `click` and `unsubscribe`.

Reactions run in the background after a delay, a few at a time. One that fails is logged; the others
go on.
"""

import asyncio
import logging
import smtplib
from collections.abc import Callable
from datetime import UTC, datetime

from infrastructure.local.sink.behaviours import behaviour_of
from infrastructure.local.sink.mail_client import (
    ONE_CLICK,
    TIMEOUT_SECONDS,
    MailClient,
    one_click_url,
)
from infrastructure.local.sink.reports import Accepted, delivery_status_report, feedback_report
from infrastructure.local.sink.smtp_session import HOSTNAME

log = logging.getLogger(__name__)


class Reactions:
    """Runs the reaction that a recipient's local part names."""

    def __init__(
        self,
        inbound: tuple[str, int] | None,
        delay: float,
        mail_client: MailClient,
        concurrency: int = 8,
    ) -> None:
        """`inbound` is the host and port reports are mailed to; `delay` is in seconds."""
        self._inbound = inbound
        self._mail_client = mail_client
        self._delay = delay
        self._slots = asyncio.Semaphore(concurrency)
        self._tasks: set[asyncio.Task[None]] = set()
        self._reactions: dict[str, Callable[[Accepted], None]] = {
            "oob": self._bounce,
            "complain": self._complain,
            "open": self._open,
            "click": self._click,
            "unsubscribe": self._unsubscribe,
        }

    def react(self, accepted: Accepted) -> None:
        """Start the reaction to a message, if its recipient names one. Does not wait for it."""
        reaction = self._reactions.get(behaviour_of(accepted.recipient))
        if reaction:
            task = asyncio.create_task(self._run(reaction, accepted))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Drop the reactions that have not begun."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, reaction: Callable[[Accepted], None], accepted: Accepted) -> None:
        await asyncio.sleep(self._delay)
        async with self._slots:
            try:
                await asyncio.to_thread(reaction, accepted)
            except Exception as error:
                log.warning("reaction of %s failed: %r", accepted.recipient, error)

    def _bounce(self, accepted: Accepted) -> None:
        self._mail_back(accepted, delivery_status_report(accepted, datetime.now(UTC)))

    def _complain(self, accepted: Accepted) -> None:
        self._mail_back(accepted, feedback_report(accepted, datetime.now(UTC)))

    def _mail_back(self, accepted: Accepted, report: bytes) -> None:
        # RFC 5321 4.5.5: nothing is ever reported to the null return path.
        if not self._inbound or not accepted.sender:
            log.warning("no way to report to <%s>", accepted.sender)
            return
        options = [] if report.isascii() else ["BODY=8BITMIME"]
        if not accepted.sender.isascii():
            options.append("SMTPUTF8")
        host, port = self._inbound
        # Named, because smtplib would otherwise ask the resolver for this machine's name.
        with smtplib.SMTP(host, port, HOSTNAME, TIMEOUT_SECONDS) as inbound:
            inbound.ehlo_or_helo_if_needed()
            inbound.sendmail("", [accepted.sender], report, options)

    def _open(self, accepted: Accepted) -> None:
        for url in self._mail_client.image_urls(accepted.message):
            self._visit(accepted, url)

    def _click(self, accepted: Accepted) -> None:
        if url := self._mail_client.first_link(accepted.message):
            self._visit(accepted, url)
        else:
            log.warning("%s found no link to this machine", accepted.recipient)

    def _unsubscribe(self, accepted: Accepted) -> None:
        if url := one_click_url(accepted.message):
            self._visit(accepted, url, form=ONE_CLICK)
        else:
            log.warning("%s found no one-click List-Unsubscribe", accepted.recipient)

    def _visit(self, accepted: Accepted, url: str, form: str | None = None) -> None:
        status = self._mail_client.fetch(url, form)
        log.info("%s visited %s: %d", accepted.recipient, url, status)
