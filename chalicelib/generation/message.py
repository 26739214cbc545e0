"""One message from one recipient: merge, render, dress, compose, sign."""

from __future__ import annotations

from functools import cached_property

from chalicelib.core import clock, ids
from chalicelib.core.addresses import Mailbox, domain_of, read_mailbox
from chalicelib.core.errors import ApiError
from chalicelib.core.reading import Read, read_config
from chalicelib.core.settings import settings
from chalicelib.delivery.delivery_batch import FinishedMessage
from chalicelib.events.model import Event, Sender, make, recipient_fields
from chalicelib.generation.drafts import Draft, Drafter, drafter
from chalicelib.generation.faults import NotGenerated, Ungenerated, failed, rejected
from chalicelib.generation.origin import Envelope, Origin
from chalicelib.generation.render import RenderFault
from chalicelib.generation.tracking_decorator import TrackingDecorator
from chalicelib.tracking.mailbox_providers import mailbox_provider
from chalicelib.tracking.rewrite import TrackingOptions
from chalicelib.transmissions.model import Json, Transmission

__all__ = ["Generator", "NotGenerated"]


class Generator:
    """Makes the messages of one chunk. ``event`` holds the fields that all its events share.

    ``made_ms`` is when they are generated; the chunk's first recipient has index ``first_index``.
    What is looked up in the ``config`` table is looked up by ``read``.
    """

    def __init__(
        self, sent: Transmission, made_ms: int, first_index: int = 0, read: Read = read_config
    ) -> None:
        self._sent = sent
        self._made_ms = made_ms
        self._origin = Origin(sent, made_ms, read)
        self._dresser = TrackingDecorator(sent, first_index, made_ms, read)
        self.event: Event = _shared_fields(sent)

    @property
    def sending_domain(self) -> str | None:
        """Return the From domain of all messages, if it can be told before they are rendered."""
        return self._sender.domain if self._sender else None

    def generate(self, index: int, recipient: Json) -> FinishedMessage:
        """Return the finished message; raises :class:`NotGenerated`."""
        tracked = self._dresser.tracked(recipient)
        try:
            return self._generate(index, recipient, tracked)
        except Ungenerated as fault:
            base = self.event | self._about(recipient) | self._own(_tracking_fields(tracked))
            # Recipients may be named twice; each has an event of its own
            fields = fault.fields | {"rcpt_index": index}
            event = make(fault.kind, base, self._made_ms, nonce=str(index), **fields)
            raise NotGenerated(event) from None

    def _generate(self, index: int, recipient: Json, tracked: TrackingOptions) -> FinishedMessage:
        if refusal := self._sent.refusal:
            raise Ungenerated(refusal["type"], refusal)
        message_id = ids.message_id(self._sent.id, index)
        try:
            foreseen = self._foreseen_envelope(message_id, recipient)
            draft = self._drafter.draft(recipient, foreseen.sender if foreseen else None)
            domain = self._origin.domain(draft.sender)
            envelope = foreseen
            if envelope is None or draft.sender.domain != self.sending_domain:
                envelope = self._origin.envelope(message_id, domain, recipient)
            dress = self._dresser.dress(
                message_id, recipient, tracked, domain, envelope.inbound_domain
            )
            built = draft.build(message_id, dress)
            data = self._origin.marked(built, envelope, domain, recipient)
        except ApiError as refusal:
            raise rejected(f"[internal] {refusal}", recipient) from None
        except (ValueError, RenderFault) as fault:
            raise failed(str(fault), recipient) from None
        if len(data) > settings().max_message_bytes:
            text = f"[internal] message of {len(data)} bytes is over {settings().max_message_bytes}"
            raise failed(text, recipient)
        about = self._about(recipient) | {
            "message_id": message_id,
            "subject": draft.subject,
            "friendly_from": draft.sender.email,
            "msg_from": envelope.sender,
            "msg_size": str(len(data)),
            "sending_domain": draft.sender.domain,
            "injection_time": clock.iso_ms(self._made_ms),
            **self._own(_message_fields(tracked, draft)),
        }
        return FinishedMessage(index, envelope.sender, recipient["email"], about, data)

    @cached_property
    def _sender(self) -> Mailbox | None:
        """The From of all messages, if it can be told before they are rendered."""
        if self._sent.refusal:
            return None
        try:
            return read_mailbox(self._drafter.sender)
        except (ValueError, RenderFault):
            return None

    def _foreseen_envelope(self, message_id: str, recipient: Json) -> Envelope | None:
        """Return the envelope for templates, which do not know it if they make the From."""
        if self._sender is None:
            return None
        domain = self._origin.domain(self._sender)
        return self._origin.envelope(message_id, domain, recipient)

    @cached_property
    def _drafter(self) -> Drafter:
        return drafter(self._sent, self._made_ms)

    def _about(self, recipient: Json) -> Event:
        provider = mailbox_provider(domain_of(recipient["email"]))
        return recipient_fields(
            recipient["email"],
            metadata=self._sent.metadata | (recipient.get("metadata") or {}),
            tags=recipient.get("tags") or [],
            rcpt_type=recipient.get("rcpt_type", ""),
        ) | {
            "mailbox_provider": provider.provider,
            "mailbox_provider_region": provider.region,
        }

    def _own(self, fields: Event) -> Event:
        """Return those of a message's fields that are not as all messages have them."""
        return {name: value for name, value in fields.items() if self.event[name] != value}


def _shared_fields(sent: Transmission) -> Event:
    has_amp = bool(sent.content.get("amp_html"))
    has_markup = has_amp or bool(sent.content.get("html") or sent.raw)
    return Sender(
        account_id=sent.account_id,
        subaccount_id=sent.subaccount_id,
        transmission_id=sent.id,
        recv_method=sent.recv_method,
        template_id=sent.template_id,
        template_version=sent.template_version,
        scheduled_time=str(sent.start_ms // 1000) if sent.start_ms else "",
        campaign_id=sent.campaign_id,
        ip_pool=sent.options["ip_pool"],
        transactional=sent.options["transactional"],
        open_tracking=sent.options["open_tracking"],
        click_tracking=sent.options["click_tracking"],
        initial_pixel=sent.options["initial_open"] and has_markup,
    ).fields() | {
        "amp_enabled": has_amp,
        **{f"ab_test_{name}": str(value) for name, value in sent.ab_test.items()},
    }


def _tracking_fields(tracked: TrackingOptions) -> Event:
    """Return what is tracked, as events tell it."""
    return {
        "open_tracking": tracked.opens,
        "click_tracking": tracked.clicks,
        "initial_pixel": tracked.initial_opens,
    }


def _message_fields(tracked: TrackingOptions, draft: Draft) -> Event:
    """Return the same of a finished message: an initial pixel is there or it is not."""
    pixel = tracked.initial_opens and draft.has_markup
    return _tracking_fields(tracked) | {"initial_pixel": pixel, "amp_enabled": draft.has_amp}
