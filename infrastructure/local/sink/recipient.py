"""Act as the recipient of a message, over HTTP and SMTP as their mail client and mail host would.

Requests go to this machine only (see `mail_client`). Mail goes to the `inbound` address only.
"""

import smtplib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from infrastructure.local.sink.answers import answer, answer_addresses
from infrastructure.local.sink.mail_client import (
    ONE_CLICK,
    TIMEOUT_SECONDS,
    MailClient,
    NotLoopback,
    one_click_url,
)
from infrastructure.local.sink.reports import (
    Accepted,
    automatic_reply,
    delivery_status_report,
    feedback_report,
)
from infrastructure.local.sink.smtp_session import HOSTNAME

PAGE_FORM = "List-Unsubscribe=One-Click"


class Step(NamedTuple):
    """One request: `method` is GET, POST or SMTP; `status` is the reply's code."""

    method: str
    url: str
    status: int


class NoTarget(Exception):
    """The message offers no way to do this; the text says what is missing."""


class Recipient:
    """Does what a recipient can do with a message; each action returns its requests.

    An action raises NoTarget before the first request, and OSError, HTTPException or
    SMTPException when a request fails.
    """

    def __init__(self, inbound: tuple[str, int] | None, mail_client: MailClient) -> None:
        """`inbound` is the host and port that reports are mailed to."""
        self._inbound = inbound
        self._mail_client = mail_client

    def open(self, accepted: Accepted) -> list[Step]:
        """Load the images of the message."""
        urls = self._mail_client.image_urls(accepted.message)
        if not urls:
            raise NoTarget("the message has no image on this machine, so no open is tracked")
        return [self._visit(url) for url in urls]

    def click(self, accepted: Accepted, url: str = "") -> list[Step]:
        """Follow a link, by default the first one that leads to this machine."""
        url = url or self._mail_client.first_link(accepted.message) or ""
        if not url:
            raise NoTarget("the message has no link to this machine")
        return [self._visit(url)]

    def unsubscribe(self, accepted: Accepted) -> list[Step]:
        """Unsubscribe with one click (RFC 8058)."""
        return [self._visit(_one_click(accepted), form=ONE_CLICK)]

    def unsubscribe_by_page(self, accepted: Accepted, url: str = "") -> list[Step]:
        """Open an unsubscribe page and press its button.

        The page is that of List-Unsubscribe, or a link of the message.
        """
        url = url or _one_click(accepted)
        return [self._visit(url), self._visit(url, form=PAGE_FORM)]

    def bounce(self, accepted: Accepted) -> list[Step]:
        """Report to the return path that the message was not delivered after all (RFC 3464)."""
        return self._mail_back(accepted, delivery_status_report)

    def complain(self, accepted: Accepted) -> list[Step]:
        """Report to the return path that the message is spam (RFC 5965)."""
        return self._mail_back(accepted, feedback_report)

    def reply(self, accepted: Accepted) -> list[Step]:
        """Answer automatically, as somebody on vacation does (RFC 3834)."""
        return self._mail_back(accepted, automatic_reply)

    def answer(self, accepted: Accepted, text: str) -> list[Step]:
        """Answer as a person does, to Reply-To or From: the service takes it if it is for it.

        It takes what is sent to an inbound domain.
        """
        addresses = answer_addresses(accepted.message)
        if not self._inbound or not addresses:
            raise NoTarget("the message has no address to answer to")
        mail = answer(accepted, addresses, text, datetime.now(UTC))
        try:
            self._send(accepted.recipient, addresses, mail)
        except smtplib.SMTPRecipientsRefused as error:
            code, reply = next(iter(error.recipients.values()))
            raise NoTarget(
                f"the service takes no mail for {', '.join(addresses)} ({code} "
                f"{reply.decode('utf-8', 'replace')[:200]}): is its domain an inbound domain?"
            ) from None
        return [Step("SMTP", f"mailto:{address}", 250) for address in addresses]

    def _mail_back(
        self, accepted: Accepted, write: Callable[[Accepted, datetime], bytes]
    ) -> list[Step]:
        # RFC 5321 4.5.5: nothing is ever reported to the null return path.
        if not self._inbound or not accepted.sender:
            raise NoTarget(f"no way to report to <{accepted.sender}>")
        self._send("", [accepted.sender], write(accepted, datetime.now(UTC)))
        return [Step("SMTP", f"mailto:{accepted.sender}", 250)]

    def _send(self, sender: str, recipients: list[str], mail: bytes) -> None:
        assert self._inbound
        options = [] if mail.isascii() else ["BODY=8BITMIME"]
        if not all(map(str.isascii, [sender, *recipients])):
            options.append("SMTPUTF8")
        host, port = self._inbound
        # Named, because smtplib would otherwise ask the resolver for this machine's name.
        with smtplib.SMTP(host, port, HOSTNAME, TIMEOUT_SECONDS) as inbound:
            inbound.ehlo_or_helo_if_needed()
            inbound.sendmail(sender, recipients, mail, options)

    def _visit(self, url: str, form: str | None = None) -> Step:
        try:
            status = self._mail_client.fetch(url, form)
        except NotLoopback:
            raise NoTarget(f"{url[:200]} does not lead to this machine") from None
        return Step("GET" if form is None else "POST", url, status)


def _one_click(accepted: Accepted) -> str:
    url = one_click_url(accepted.message)
    if url is None:
        raise NoTarget("found no one-click List-Unsubscribe")
    return url
