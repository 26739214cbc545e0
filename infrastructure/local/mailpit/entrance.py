"""Lead a browser from Mailpit's addresses to the mailbox in the console, without a sign-in.

Who may use the port may read all mail there anyhow, so the browser gets a session of a user who
looks at reports and changes nothing. One that has a session keeps it.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from chalicelib.authentication import signed_in
from chalicelib.core.errors import ServiceError
from chalicelib.core.request import Request
from chalicelib.users import cookies, roles, sign_in
from infrastructure.local.gateway.local_api import LocalError
from infrastructure.local.gateway.sign_in_endpoint import METHOD, local_user
from infrastructure.local.mailpit.messages import Messages
from infrastructure.local.mailpit.router import (
    MailpitReply,
    MailpitRequest,
    MailpitRoute,
    NotFound,
    redirect,
)

ADDRESS: Final = "mailbox@localhost"
NAME: Final = "Mailbox visitor"

_MAILBOX = "console/#/mailbox"


class Entrance:
    """The addresses that people open; ``has_console`` tells whether there is one to lead to."""

    def __init__(self, messages: Messages, *, has_console: bool) -> None:
        self._messages = messages
        self._has_console = has_console

    def routes(self) -> list[MailpitRoute]:
        """Return the routes."""
        return [
            MailpitRoute("GET", "/", self.open_mailbox),
            MailpitRoute("GET", "/search", self.open_search),
            MailpitRoute("GET", "/view/latest", self.open_latest),
            MailpitRoute("GET", "/view/{id}", self.open_message),
        ]

    def cookies_of_console(self, request: MailpitRequest) -> tuple[str, ...]:
        """Return the cookies for a browser that opens the console itself, as a bookmark does."""
        return self._begin_session(request) if _is_page(request) else ()

    def open_mailbox(self, request: MailpitRequest) -> MailpitReply:
        """Lead to the mailbox."""
        return self._lead(request, _MAILBOX)

    def open_search(self, request: MailpitRequest) -> MailpitReply:
        """Lead to what a search finds."""
        return self._lead(request, f"{_MAILBOX}?q={quote(request.query.get('q', ''), safe='')}")

    def open_latest(self, request: MailpitRequest) -> MailpitReply:
        """Lead to the message that came last, to the mailbox if there is none."""
        try:
            message_id = self._messages.id_of(request, "latest")
        except NotFound:
            return self._lead(request, f"../{_MAILBOX}")
        return self._lead(request, f"../{_MAILBOX}/{quote(message_id, safe='')}")

    def open_message(self, request: MailpitRequest) -> MailpitReply:
        """Lead to a message."""
        return self._lead(request, f"../{_MAILBOX}/{quote(request.parameters['id'], safe='')}")

    def _lead(self, request: MailpitRequest, target: str) -> MailpitReply:
        if not self._has_console:
            raise NotFound
        return redirect(target, self.cookies_of_console(request))

    def _begin_session(self, request: MailpitRequest) -> tuple[str, ...]:
        """Return the cookies of a new session, none if there is one or if there can be none."""
        headers = dict(request.headers)
        service_request = Request("GET", request.path, headers=headers)
        try:
            if signed_in.identify(service_request, None, reads=True):
                return ()
        except ServiceError:
            # It has ended
            pass
        # One that may just have been overlooked is not ended
        name = cookies.session_cookie().name
        others = [pair for pair in headers.get("cookie", "").split(";") if name not in pair]
        try:
            reply = sign_in.begin_session(
                Request("POST", request.path, headers=headers | {"cookie": ";".join(others)}),
                local_user(ADDRESS, NAME, roles.REPORTING),
                method=METHOD,
                # The user has none, and changes nothing
                second_factor=True,
            )
        except (LocalError, ServiceError):
            return ()
        return tuple(reply.cookies)


def _is_page(request: MailpitRequest) -> bool:
    """Tell whether a person opens a page.

    A page of another site may ask for HTML in the background as often as it likes, and each time
    without a cookie; a browser says so (Fetch Metadata, W3C).
    """
    asks_for_page = request.method == "GET" and "text/html" in request.header("accept")
    return asks_for_page and request.header("sec-fetch-dest") in ("", "document")
