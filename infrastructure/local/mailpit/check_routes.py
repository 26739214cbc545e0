"""Serve those operations of Mailpit's API that check a message, let it out, or make one.

They are the html-check, the link-check, the sa-check, thumbnails, release, chaos and send. What
they need is imported when one is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from infrastructure.local.mailpit.basic_login import read_login
from infrastructure.local.mailpit.messages import Messages
from infrastructure.local.mailpit.mime_parts import MimeParts
from infrastructure.local.mailpit.router import (
    API,
    MailpitError,
    MailpitReply,
    MailpitRequest,
    MailpitRoute,
    json_reply,
    ok,
)
from infrastructure.local.messages.parts import StoredMessage
from infrastructure.local.releasing.chaos import BadTrigger, ChaosFile, Triggers
from infrastructure.local.releasing.choices import ReleaseChoices
from infrastructure.local.releasing.release import (
    BadRecipient,
    HostFailed,
    NotAllowed,
    NotReleasable,
    Releaser,
)

#: 50 MB of attachments in base64, as JSON
MOST_OF_SEND = 70 * 1024 * 1024

_MESSAGE = f"{API}/message/{{id}}"

#: Takes a message in (a request's JSON and the name of its login), and returns its id
Accept = Callable[[dict[str, Any], str], str]


@dataclass(frozen=True, slots=True)
class CheckRoutes:
    """The operations over a mailbox. ``spam_check`` names the spam checker, if there is one."""

    messages: Messages
    choices: ReleaseChoices
    chaos: ChaosFile
    accept: Accept
    spam_check: str = ""

    def routes(self) -> list[MailpitRoute]:
        """Return the routes. Without a spam checker the sa-check has none, as there."""
        spam_route = MailpitRoute("GET", f"{_MESSAGE}/sa-check", self.check_spam, waits=True)
        return [
            MailpitRoute("GET", f"{_MESSAGE}/html-check", self.check_html, waits=True),
            MailpitRoute("GET", f"{_MESSAGE}/link-check", self.check_links, waits=True),
            *([spam_route] if self.spam_check else []),
            MailpitRoute("GET", f"{_MESSAGE}/part/{{part}}/thumb", self.show_thumbnail),
            MailpitRoute("POST", f"{_MESSAGE}/release", self.release, waits=True),
            MailpitRoute("GET", f"{API}/chaos", self.show_chaos),
            MailpitRoute("PUT", f"{API}/chaos", self.set_chaos),
            MailpitRoute("POST", f"{API}/send", self.send, max_body=MOST_OF_SEND, waits=True),
        ]

    def check_html(self, request: MailpitRequest) -> MailpitReply:
        """Check which mail clients support what the HTML uses."""
        from infrastructure.local.mailpit.html_check_view import view
        from infrastructure.local.messages.html_check import html_check

        html = MimeParts(self._message(request)).html
        if not html:
            raise MailpitError(400, "message does not contain HTML")
        return json_reply(view(html_check(html)))

    def check_links(self, request: MailpitRequest) -> MailpitReply:
        """Request the links of a message."""
        from infrastructure.local.messages.link_check import LinkChecker

        checker = LinkChecker(private=self.choices.checks_private_links)
        follow = request.query.get("follow") in ("true", "1")
        links = checker.check(self._message(request), follow=follow)
        return json_reply(
            {
                "Errors": sum(each.is_error for each in links),
                "Links": [
                    {"URL": each.url, "StatusCode": each.status_code, "Status": each.status}
                    for each in links
                ],
            }
        )

    def check_spam(self, request: MailpitRequest) -> MailpitReply:
        """Have the spam checker judge a message."""
        from infrastructure.local.messages.spam_check import spam_check

        check = spam_check(self._message(request))
        rules = [
            {
                "Score": _rounded(each.score),
                "Name": each.name,
                "Description": each.description,
            }
            for each in check.rules
        ]
        return json_reply(
            {
                "IsSpam": check.is_spam,
                "Error": check.error,
                "Score": _rounded(check.score),
                "Rules": rules,
            }
        )

    def show_thumbnail(self, request: MailpitRequest) -> MailpitReply:
        """Return a part as a small JPEG, a blank one if it is no image."""
        from infrastructure.local.messages.thumbnails import thumbnail

        message = self._message(request)
        parts = MimeParts(message)
        part = parts.part(request.parameters["part"])
        if part is None:
            raise MailpitError(400, "attachment not found")
        return MailpitReply(thumbnail(part.content_type, parts.data(part)), "image/jpeg")

    def release(self, request: MailpitRequest) -> MailpitReply:
        """Send a message to real addresses."""
        message = self._message(request)
        to = request.json().get("to") or []
        if not isinstance(to, list) or not all(isinstance(each, str) for each in to):
            raise MailpitError(400, "To must be a list of addresses")
        try:
            Releaser(self.choices).release(message.content, to)
        except NotAllowed as error:
            raise MailpitError(400, _text_of(error)) from None
        except (BadRecipient, NotReleasable) as error:
            raise MailpitError(400, str(error)) from None
        except HostFailed as error:
            raise MailpitError(400, f"SMTP error: {error}") from None
        return ok()

    def show_chaos(self, request: MailpitRequest) -> MailpitReply:
        """Show by which chance the SMTP port refuses."""
        triggers = self.chaos.triggers() if self.choices.chaos is not None else None
        if triggers is None:
            raise MailpitError(400, "Chaos is not enabled")
        return json_reply(triggers.as_json())

    def set_chaos(self, request: MailpitRequest) -> MailpitReply:
        """Set by which chance the SMTP port refuses."""
        if self.choices.chaos is None:
            raise MailpitError(400, "Chaos is not enabled")
        try:
            triggers = Triggers.from_json(request.json())
        except BadTrigger as error:
            raise MailpitError(400, str(error)) from None
        self.chaos.set(triggers)
        return json_reply(triggers.as_json())

    def send(self, request: MailpitRequest) -> MailpitReply:
        """Take a message that is described as JSON."""
        from infrastructure.local.mailpit.sending import BadMessage

        try:
            return json_reply({"ID": self.accept(request.json(), _login(request))})
        except (BadMessage, MailpitError) as error:
            return json_reply({"Error": str(error)}, 400)

    def _message(self, request: MailpitRequest) -> StoredMessage:
        return self.messages.of_path(request).message


def _rounded(number: float) -> float:
    """Return a score with one decimal, rounded down as Mailpit does."""
    return math.floor(number * 10) / 10


def _login(request: MailpitRequest) -> str:
    """Return the name of a request with HTTP Basic, empty without one."""
    login = read_login(request.header("authorization"))
    return login.name if login else ""


def _text_of(error: NotAllowed) -> str:
    """Return an error in Mailpit's words."""
    noun = "Address" if len(error.addresses) == 1 else "Addresses"
    text = f"Failed: {len(error.addresses)} {noun} do not match the allowlist"
    return f"{text}: {', '.join(error.addresses)}"
