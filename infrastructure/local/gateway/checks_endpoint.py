"""Check a message for mail clients, links and spam, show its images small, and release it.

What the checks need is imported when one is asked for: the gateway should not start later for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING

from infrastructure.local.gateway.local_api import (
    LocalError,
    LocalReply,
    LocalRequest,
    LocalRoute,
    results,
)
from infrastructure.local.gateway.message_lookup import MESSAGE, PART, message_of, part_of
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.messages.parts import HTML

if TYPE_CHECKING:
    from infrastructure.local.releasing.choices import ReleaseChoices

RELEASING = "/local/releasing"
MOST_RECIPIENTS = 100


class ChecksEndpoint:
    """The checks of one message, and its way out, with the choices of an environment.

    ``spam_check`` names the spam checker, if there is one.
    """

    def __init__(
        self, mailbox: SinkMailbox, environ: Mapping[str, str], spam_check: str = ""
    ) -> None:
        self._mailbox = mailbox
        self._environ = environ
        self._spam_check = spam_check

    def routes(self) -> list[LocalRoute]:
        """Return the routes."""
        return [
            LocalRoute("GET", f"{MESSAGE}/html-check", self.check_html, waits=True),
            LocalRoute("GET", f"{MESSAGE}/link-check", self.check_links, waits=True),
            LocalRoute("GET", f"{MESSAGE}/spam-check", self.check_spam, waits=True),
            LocalRoute("GET", f"{PART}/thumbnail", self.show_thumbnail),
            LocalRoute("POST", f"{MESSAGE}/release", self.release, waits=True),
            LocalRoute("GET", RELEASING, self.show_releasing),
        ]

    def check_html(self, request: LocalRequest) -> LocalReply:
        """Check which mail clients support what a message's HTML and CSS use."""
        from infrastructure.local.gateway.html_check_view import html_check_view

        html = message_of(self._mailbox, request).body(HTML)
        if not html:
            raise LocalError(409, "the message has no HTML")
        return results(html_check_view(html))

    def check_links(self, request: LocalRequest) -> LocalReply:
        """Request the links of a message; none of the service's own is followed as a click."""
        from infrastructure.local.messages.link_check import LinkChecker

        checker = LinkChecker(private=self._choices.checks_private_links)
        follow = request.query.get("follow") == "true"
        links = checker.check(message_of(self._mailbox, request), follow=follow)
        return results(
            {
                "errors": sum(each.is_error for each in links),
                "links": [asdict(each) for each in links],
            }
        )

    def check_spam(self, request: LocalRequest) -> LocalReply:
        """Have the program of `SPAM_CHECK` judge whether a message is spam."""
        from infrastructure.local.messages.spam_check import spam_check

        message = message_of(self._mailbox, request)
        if not self._spam_check:
            raise LocalError(409, "no spam checker is set: SPAM_CHECK may name spamd or rspamd")
        return results(asdict(spam_check(message)))

    def show_thumbnail(self, request: LocalRequest) -> LocalReply:
        """Return a part that is an image as a JPEG of 180 by 120; others are a blank one."""
        from infrastructure.local.messages.thumbnails import thumbnail

        message = message_of(self._mailbox, request)
        part = part_of(message, request)
        return LocalReply(thumbnail(part.content_type, message.data(part)), "image/jpeg")

    def release(self, request: LocalRequest) -> LocalReply:
        """Send a message to real addresses by the host of `RELEASE_HOST`."""
        from infrastructure.local.releasing.release import (
            BadRecipient,
            HostFailed,
            NotReleasable,
            Releaser,
        )

        message = message_of(self._mailbox, request)
        try:
            release = Releaser(self._choices).release(message.content, _recipients(request))
        except BadRecipient as error:
            raise LocalError(400, str(error)) from None
        except NotReleasable as error:
            raise LocalError(409, str(error)) from None
        except HostFailed as error:
            raise LocalError(502, str(error)) from None
        return results({"to": release.recipients, "refused": release.refusals})

    def show_releasing(self, request: LocalRequest) -> LocalReply:
        """Show by which host mail is released and forwarded, and to whom it may go."""
        choices = self._choices
        return results(
            {
                "host": choices.host.shown if choices.host else None,
                "recipients": list(choices.recipients.entries),
                "forward_matching": choices.forward_matching or None,
                "forward_to": list(choices.forward_to),
                "warning": choices.warning or None,
            }
        )

    @cached_property
    def _choices(self) -> ReleaseChoices:
        from infrastructure.local.releasing.choices import ReleaseChoices

        return ReleaseChoices.read(self._environ)


def _recipients(request: LocalRequest) -> list[str]:
    """Return the addresses of the body; raises 400."""
    to = request.json().get("to")
    if not isinstance(to, list) or not all(isinstance(each, str) for each in to):
        raise LocalError(400, "to must be a list of addresses")
    if not 1 <= len(to) <= MOST_RECIPIENTS:
        raise LocalError(400, f"to must have 1 to {MOST_RECIPIENTS} addresses")
    return to
