"""Examine a message of the mailbox, and act as its recipient: links, checks and actions."""

from __future__ import annotations

import smtplib
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any

from infrastructure.local.gateway.local_api import (
    LocalError,
    LocalReply,
    LocalRequest,
    LocalRoute,
    results,
)
from infrastructure.local.gateway.message_lookup import MESSAGE, message_of
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.messages.checks import checks_of
from infrastructure.local.messages.features import features_of
from infrastructure.local.messages.links import links_of
from infrastructure.local.messages.parts import HTML, StoredMessage
from infrastructure.local.sink.recipient import NoTarget, Recipient, Step
from infrastructure.local.sink.reports import Accepted

WAYS = ("one-click", "page")
ACTIONS = ("open", "click", "unsubscribe", "complain", "bounce", "reply", "answer")
MOST_TEXT = 50_000


class MessageEndpoint:
    """The operations on one message. ``recipient`` acts over HTTP and SMTP."""

    def __init__(self, mailbox: SinkMailbox, recipient: Recipient) -> None:
        self._mailbox = mailbox
        self._recipient = recipient

    def routes(self) -> list[LocalRoute]:
        """Return the routes."""
        return [
            LocalRoute("GET", f"{MESSAGE}/links", self.list_links),
            LocalRoute("GET", f"{MESSAGE}/checks", self.check, waits=True),
            LocalRoute("GET", f"{MESSAGE}/features", self.list_features),
            LocalRoute("POST", f"{MESSAGE}/actions", self.act, waits=True),
        ]

    def list_links(self, request: LocalRequest) -> LocalReply:
        """List the links of a message, each tracked one with what it leads to."""
        return results([asdict(link) for link in links_of(message_of(self._mailbox, request))])

    def check(self, request: LocalRequest) -> LocalReply:
        """Check a message as a mailbox provider would."""
        return results([check._asdict() for check in checks_of(message_of(self._mailbox, request))])

    def list_features(self, request: LocalRequest) -> LocalReply:
        """List the features of HTML and CSS that a message uses, as caniemail.com names them."""
        html = message_of(self._mailbox, request).body(HTML)
        return results([feature._asdict() for feature in features_of(html)])

    def act(self, request: LocalRequest) -> LocalReply:
        """Act as the recipient of a message."""
        message, body = message_of(self._mailbox, request), request.json()
        action = self._action(body, message)
        accepted = Accepted(message.sender, message.recipient, message.content, datetime.now(UTC))
        try:
            steps = action(accepted)
        except NoTarget as error:
            raise LocalError(409, str(error)) from None
        except (OSError, HTTPException, smtplib.SMTPException) as error:
            raise LocalError(502, f"the service did not answer as expected: {error}") from None
        return results({"action": body["action"], "steps": [step._asdict() for step in steps]})

    def _action(
        self, body: dict[str, Any], message: StoredMessage
    ) -> Callable[[Accepted], list[Step]]:
        name, url, way = body.get("action"), body.get("url", ""), body.get("way", WAYS[0])
        if name not in ACTIONS:
            raise LocalError(400, f"action must be one of {', '.join(ACTIONS)}")
        if not isinstance(url, str):
            raise LocalError(400, "url must be a text")
        if way not in WAYS:
            raise LocalError(400, f"way must be one of {', '.join(WAYS)}")
        recipient = self._recipient
        if name == "answer":
            text = _text_of(body)
            return lambda accepted: recipient.answer(accepted, text)
        if url:
            # What a link leads to stands for the link
            links = links_of(message)
            url = next((link.url for link in links if link.target == url), url)
        if name == "click":
            return lambda accepted: recipient.click(accepted, url)
        if name == "unsubscribe" and way == "page":
            return lambda accepted: recipient.unsubscribe_by_page(accepted, url)
        action: Callable[[Accepted], list[Step]] = getattr(recipient, name)
        return action


def _text_of(body: dict[str, Any]) -> str:
    """Return the text of an answer; raises 400."""
    text = body.get("text")
    if not isinstance(text, str) or not text.strip() or len(text) > MOST_TEXT:
        raise LocalError(400, f"text must be a text of 1 to {MOST_TEXT} characters")
    return text.encode(errors="replace").decode()
