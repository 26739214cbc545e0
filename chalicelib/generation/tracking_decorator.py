"""What tracking does to messages: their links, their pixels and the headers to unsubscribe by.

A chunk has one :class:`Dresser`, and each of its messages gets a :class:`Dress`, which changes the
bodies and names the headers, be the message built here or before (spec 2.1, 2.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from chalicelib.core import ids
from chalicelib.core.reading import Read
from chalicelib.core.settings import settings
from chalicelib.generation.compose import Rendered
from chalicelib.generation.substitution import fills_bodies
from chalicelib.sending_domains.model import SendingDomain
from chalicelib.template_language import AMP_HTML, HTML, TEXT, Part
from chalicelib.tracking.model import Message
from chalicelib.tracking.rewrite import LinkRewriter, TrackingOptions, rewriter
from chalicelib.tracking.tokens import MessageTokens, last_day
from chalicelib.tracking.unsubscribe import unsubscribe_headers
from chalicelib.tracking_domains import lookup
from chalicelib.transmissions.model import Json, Transmission


@dataclass(frozen=True, slots=True)
class Dress:
    """What is done to one message. ``headers`` take the place of others with their names."""

    headers: Sequence[tuple[str, str]]
    links: LinkRewriter
    tokens: MessageTokens
    tracked: TrackingOptions

    def body(self, text: str, part: Part) -> str:
        """Return a body with its links and pixels, and without what only tracking is to see."""
        if part is HTML:
            return self.links.html(text, self.tokens, self.tracked)
        if part is AMP_HTML:
            return self.links.amp(text, self.tokens, self.tracked)
        return self.links.text(text, self.tokens, self.tracked)

    def content(self, content: Rendered) -> Rendered:
        """Return rendered content as it goes into the message."""
        own = {name.lower() for name, _ in self.headers}
        kept = {name: value for name, value in content.headers.items() if name.lower() not in own}
        return replace(
            content,
            text=self._part(content.text, TEXT),
            html=self._part(content.html, HTML),
            amp_html=self._part(content.amp_html, AMP_HTML),
            headers=kept | dict(self.headers),
        )

    def _part(self, text: str | None, part: Part) -> str | None:
        return None if text is None else self.body(text, part)


class TrackingDecorator:
    """Dresses the messages of one chunk, whose first recipient has index ``first_index``.

    ``made_ms`` is when its messages are generated; tracking domains are asked for by ``read``.
    """

    def __init__(self, sent: Transmission, first_index: int, made_ms: int, read: Read) -> None:
        self._sent = sent
        self._first_index = first_index
        self._last_day = last_day(made_ms)
        self._read = read
        self._marked = fills_bodies(sent)
        self._bases: dict[str, str] = {}

    def tracked(self, recipient: Json) -> TrackingOptions:
        """Return what is tracked in a recipient's message.

        The recipient's own options beat the transmission's (spec 2.1); what the account or the
        subaccount does not allow stays off. An initial pixel goes along with open tracking.
        """
        own: Json = recipient.get("options") or {}
        given, allowed = self._sent.options, self._sent.defaults
        opens = own.get("open_tracking", given["open_tracking"])
        same = opens == given["open_tracking"]
        usual = given["initial_open"] if same else opens and allowed.get("initial_open", True)
        may_open, may_click = allowed.get("tracks_opens", True), allowed.get("tracks_clicks", True)
        return TrackingOptions(
            opens=bool(may_open and opens),
            clicks=bool(may_click and own.get("click_tracking", given["click_tracking"])),
            initial_opens=bool(may_open and own.get("initial_open", usual)),
        )

    def dress(
        self,
        message_id: str,
        recipient: Json,
        tracked: TrackingOptions,
        domain: SendingDomain,
        bounce_domain: str,
    ) -> Dress:
        """Return the dress of a message that is sent from ``domain``.

        Mail that unsubscribes goes to ``bounce_domain``. Raises 400 when the tracking domain that
        the transmission names is not in service any more.
        """
        own = self._tokens(message_id, recipient["email"])
        shown = recipient.get("tracked_as")
        return Dress(
            self._headers(own, message_id, bounce_domain),
            rewriter(self._base(tracked, domain), marked=self._marked),
            self._tokens_of(shown) if shown else own,
            tracked,
        )

    def _tokens(self, message_id: str, email: str, first_index: int | None = None) -> MessageTokens:
        sent = self._sent
        first = self._first_index if first_index is None else first_index
        return MessageTokens(
            Message(sent.account_id, sent.subaccount_id, message_id, first, email, self._last_day)
        )

    def _tokens_of(self, shown: Json) -> MessageTokens:
        """Return the tokens of the recipient whose links an archive copy has: the first of all."""
        message_id = ids.message_id(self._sent.id, shown["index"])
        return self._tokens(message_id, shown["email"], first_index=0)

    def _base(self, tracked: TrackingOptions, domain: SendingDomain) -> str:
        """Return the beginning of links, looked up once for each sending domain of a chunk."""
        if not any(tracked):
            return settings().public_url
        if domain.domain not in self._bases:
            self._bases[domain.domain] = lookup.choose(
                self._sent.account_id,
                self._sent.subaccount_id,
                requested=self._sent.tracking_domain,
                linked=domain.tracking_domain,
                read=self._read,
            )
        return self._bases[domain.domain]

    def _headers(
        self, tokens: MessageTokens, message_id: str, bounce_domain: str
    ) -> list[tuple[str, str]]:
        """Return the headers to unsubscribe by, which transactional mail has on request only."""
        sent = self._sent
        if sent.options["transactional"] and not sent.defaults.get("transactional_unsub"):
            return []
        return unsubscribe_headers(tokens, message_id, bounce_domain)
