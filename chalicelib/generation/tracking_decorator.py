"""Track messages: rewrite their links, and add pixels and the headers to unsubscribe by.

A chunk has one :class:`TrackingDecorator`, and each of its messages gets a
:class:`MessageTracking`, which changes the bodies and names the headers. It serves messages that
are composed here and pre-built ones (spec 2.1, 2.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chalicelib.core import ids
from chalicelib.core.reading import Read
from chalicelib.core.settings import settings
from chalicelib.generation.compose import Rendered
from chalicelib.generation.substitution import fills_bodies
from chalicelib.recipient_lists.stored_form import OriginalRecipient, StoredRecipient
from chalicelib.sending_domains.model import SendingDomain
from chalicelib.template_language import AMP_HTML, HTML, TemplatePart
from chalicelib.tracking.model import Message
from chalicelib.tracking.rewrite import LinkRewriter, TrackingOptions, rewriter
from chalicelib.tracking.tokens import MessageTokens, last_day
from chalicelib.tracking.unsubscribe import unsubscribe_headers
from chalicelib.tracking_domains import lookup
from chalicelib.transmissions.model import Transmission


@dataclass(frozen=True, slots=True)
class MessageTracking:
    """The tracking of one message. ``headers`` replace others with the same names."""

    headers: Sequence[tuple[str, str]]
    links: LinkRewriter
    tokens: MessageTokens
    tracked: TrackingOptions

    def body(self, text: str, part: TemplatePart) -> str:
        """Return a body with its links and pixels, and without the marks of literal links."""
        if part is HTML:
            return self.links.html(text, self.tokens, self.tracked)
        if part is AMP_HTML:
            return self.links.amp(text, self.tokens, self.tracked)
        return self.links.text(text, self.tokens, self.tracked)

    def content(self, content: Rendered) -> Rendered:
        """Return rendered content as it goes into the message."""
        own = {name.lower() for name, _ in self.headers}
        other = {name: value for name, value in content.headers.items() if name.lower() not in own}
        links, tokens, tracked = self.links, self.tokens, self.tracked
        text, html, amp_html = content.text, content.html, content.amp_html
        return Rendered(
            content.sender,
            content.subject,
            content.reply_to,
            text=text and links.text_chunks(text, tokens, tracked),
            html=html and links.html_chunks(html, tokens, tracked),
            amp_html=amp_html and links.amp_chunks(amp_html, tokens, tracked),
            headers=other | dict(self.headers),
        )


class TrackingDecorator:
    """Tracks the messages of one chunk, whose first recipient has index ``first_index``.

    ``injected_ms`` is the time of their generation; ``read`` reads tracking domains.
    """

    def __init__(
        self, transmission: Transmission, first_index: int, injected_ms: int, read: Read
    ) -> None:
        self._transmission = transmission
        self._first_index = first_index
        self._last_day = last_day(injected_ms)
        self._read = read
        self._marked = fills_bodies(transmission)
        self._bases: dict[str, str] = {}

    def tracked(self, recipient: StoredRecipient) -> TrackingOptions:
        """Return what is tracked in a recipient's message.

        The recipient's own options beat the transmission's (spec 2.1); what the account or the
        subaccount does not allow stays off. An initial pixel goes along with open tracking.
        """
        own = recipient.get("options") or {}
        options, allowed = self._transmission.options, self._transmission.defaults
        opens = own.get("open_tracking", options["open_tracking"])
        same = opens == options["open_tracking"]
        initial = options["initial_open"] if same else opens and allowed.get("initial_open", True)
        may_open, may_click = allowed.get("tracks_opens", True), allowed.get("tracks_clicks", True)
        return TrackingOptions(
            opens=bool(may_open and opens),
            clicks=bool(may_click and own.get("click_tracking", options["click_tracking"])),
            initial_opens=bool(may_open and own.get("initial_open", initial)),
        )

    def tracking(
        self,
        message_id: str,
        recipient: StoredRecipient,
        tracked: TrackingOptions,
        domain: SendingDomain,
        bounce_domain: str,
    ) -> MessageTracking:
        """Return the tracking of a message that is sent from ``domain``.

        Mail that unsubscribes goes to ``bounce_domain``. Raises 400 when the tracking domain that
        the transmission names is no longer in service.
        """
        tokens = self._tokens(message_id, recipient["email"])
        original = recipient.get("tracked_as")
        return MessageTracking(
            self._headers(tokens, message_id, bounce_domain),
            rewriter(self._base(tracked, domain), marked=self._marked),
            self._tokens_of(original) if original else tokens,
            tracked,
        )

    def _tokens(self, message_id: str, email: str, first_index: int | None = None) -> MessageTokens:
        transmission = self._transmission
        first = self._first_index if first_index is None else first_index
        owner = transmission.account_id, transmission.subaccount_id
        return MessageTokens(Message(*owner, message_id, first, email, self._last_day))

    def _tokens_of(self, original: OriginalRecipient) -> MessageTokens:
        """Return the tokens of the recipient whose links an archive copy has: the first of all."""
        message_id = ids.message_id(self._transmission.id, original["index"])
        return self._tokens(message_id, original["email"], first_index=0)

    def _base(self, tracked: TrackingOptions, domain: SendingDomain) -> str:
        """Return the base URL of links, looked up once for each sending domain of a chunk."""
        if not any(tracked):
            return settings().public_url
        if domain.domain not in self._bases:
            self._bases[domain.domain] = lookup.choose(
                self._transmission.account_id,
                self._transmission.subaccount_id,
                requested=self._transmission.tracking_domain,
                linked=domain.tracking_domain,
                read=self._read,
            )
        return self._bases[domain.domain]

    def _headers(
        self, tokens: MessageTokens, message_id: str, bounce_domain: str
    ) -> list[tuple[str, str]]:
        """Return the headers to unsubscribe by; transactional mail has them on request only."""
        options, defaults = self._transmission.options, self._transmission.defaults
        if options["transactional"] and not defaults.get("transactional_unsub"):
            return []
        return unsubscribe_headers(tokens, message_id, bounce_domain)
