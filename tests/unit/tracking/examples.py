"""Messages, tokens and rewritten markup for the tests of tracking."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote

from chalicelib.core import ids
from chalicelib.tracking import tokens
from chalicelib.tracking.model import Link, Message
from chalicelib.tracking.rewrite import LinkRewriter, TrackingOptions
from chalicelib.tracking.tokens import MessageTokens

#: 2026-01-31 09:00:00 UTC
NINE = 1_769_850_000_000
TRANSMISSION = "191930000000000001"
BASE = "https://t.example"
CLICKS = TrackingOptions(opens=False, clicks=True, initial_opens=False)
NOTHING = TrackingOptions(opens=False, clicks=False, initial_opens=False)
TRACKED_URL = re.compile(r"https://t\.example/(t/c|f/[^/]+)/([\w-]+\.[\w-]+\.[\w-]{16})")


def message(index: int = 0, recipient: str = "Ann@example.test", first_index: int = 0) -> Message:
    """Return the message to one recipient of the transmission."""
    return Message(
        account_id=1,
        subaccount_id=None,
        message_id=ids.message_id(TRANSMISSION, index),
        first_index=first_index,
        recipient=recipient,
        expires=tokens.last_day(NINE),
    )


def issuer() -> MessageTokens:
    """Return the tokens of one message; needs the settings of a cloud."""
    return MessageTokens(message())


def html(markup: str, tracked: TrackingOptions = CLICKS, *, marked: bool = False) -> str:
    """Return an html part rewritten by a rewriter of its own."""
    return LinkRewriter(BASE, marked=marked).html(markup, issuer(), tracked)


def text(content: str, tracked: TrackingOptions = CLICKS, *, marked: bool = False) -> str:
    """Return a text part rewritten by a rewriter of its own."""
    return LinkRewriter(BASE, marked=marked).text(content, issuer(), tracked)


def links(rewritten: str) -> list[Link]:
    """Return the links of rewritten content, from their tokens."""
    targets = [
        tokens.read(unquote(kind), token)[1] for kind, token in TRACKED_URL.findall(rewritten)
    ]
    assert None not in targets
    return [link for link in targets if link]


def targets(rewritten: str) -> list[str]:
    """Return the targets of the tracked links of rewritten content."""
    return [link.target for link in links(rewritten)]


def undone(rewritten: str, write: Callable[[str], str] = str) -> str:
    """Return rewritten content with the target of each tracked link in its place."""

    def target(match: re.Match[str]) -> str:
        link = tokens.read(unquote(match[1]), match[2])[1]
        assert link
        return write(link.target)

    return TRACKED_URL.sub(target, rewritten)
