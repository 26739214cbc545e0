"""Generate one message for one recipient: merge, render, track, compose, sign."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import cast

from chalicelib.core import clock, ids
from chalicelib.core.addresses import Mailbox, domain_of, read_mailbox
from chalicelib.core.errors import ApiError
from chalicelib.core.message_event import Event, EventFields
from chalicelib.core.reading import Read, read_config
from chalicelib.core.settings import settings
from chalicelib.delivery.delivery_batch import FinishedMessage
from chalicelib.events.documentation import documented_fields
from chalicelib.events.model import Sender, make_event, recipient_fields
from chalicelib.generation.drafts import Draft, Drafter, drafter
from chalicelib.generation.faults import (
    NotGenerated,
    RenderFault,
    Ungenerated,
    failure,
    refused,
    rejection,
)
from chalicelib.generation.origin import EnvelopeSender, Origin
from chalicelib.generation.tracking_decorator import TrackingDecorator
from chalicelib.recipient_lists.stored_form import StoredRecipient
from chalicelib.tracking.mailbox_providers import mailbox_provider
from chalicelib.tracking.rewrite import TrackingOptions
from chalicelib.transmissions.model import Transmission


class Generator:
    """Generates the messages of one chunk.

    ``injected_ms`` is the time of generation; the chunk's first recipient has index
    ``first_index``. ``read`` reads items of the ``config`` table.
    """

    def __init__(
        self,
        transmission: Transmission,
        injected_ms: int,
        first_index: int = 0,
        read: Read = read_config,
    ) -> None:
        self._transmission = transmission
        self._injected_ms = injected_ms
        self._origin = Origin(transmission, injected_ms, read)
        self._decorator = TrackingDecorator(transmission, first_index, injected_ms, read)

    @cached_property
    def event(self) -> EventFields:
        """The fields that all events of the chunk share."""
        return _shared_fields(self._transmission, self._origin.named_pool)

    @property
    def sending_domain(self) -> str | None:
        """Return the From domain of all messages, if it is known before they are rendered."""
        return self._sender.domain if self._sender else None

    def generate(self, index: int, recipient: StoredRecipient) -> FinishedMessage:
        """Return the finished message; raises :class:`NotGenerated`."""
        tracked = self._decorator.tracked(recipient)
        try:
            return self._generate(index, recipient, tracked)
        except Ungenerated as fault:
            raise NotGenerated(self._fault_event(fault, index, recipient, tracked)) from None

    def death(self, index: int, recipient: StoredRecipient, reason: str) -> Event:
        """Return the event of a recipient whose message ended the process that generated it.

        Nothing is rendered for it, so From and subject are not known.
        """
        fault = failure(f"[internal] the message cannot be generated: {reason}", recipient)
        return self._event_of(
            fault, index, recipient, _tracking(self._decorator.tracked(recipient))
        )

    def _generate(
        self, index: int, recipient: StoredRecipient, tracked: TrackingOptions
    ) -> FinishedMessage:
        if refusal := self._transmission.refusal:
            raise refused(refusal)
        message_id = ids.message_id(self._transmission.id, index)
        try:
            draft, envelope, data = self._build(message_id, recipient, tracked)
        except ApiError as error:
            raise rejection(f"[internal] {error.text}", recipient) from None
        except (ValueError, RenderFault) as fault:
            raise failure(str(fault), recipient) from None
        _check_size(data, recipient)
        fields: EventFields = {
            **self._recipient_fields(recipient),
            "message_id": message_id,
            "subject": draft.subject,
            **_sender_fields(draft.sender),
            "msg_from": envelope.sender,
            "msg_size": str(len(data)),
            "injection_time": clock.iso_ms(self._injected_ms),
            **self._own(self._content_fields(tracked)),
        }
        return FinishedMessage(index, envelope.sender, recipient["email"], fields, data)

    def _build(
        self, message_id: str, recipient: StoredRecipient, tracked: TrackingOptions
    ) -> tuple[Draft, EnvelopeSender, bytes]:
        """Return the draft, the envelope and the signed bytes of a message."""
        foreseen = self._foreseen_envelope(message_id, recipient)
        draft = self._drafter.draft(recipient, foreseen.sender if foreseen else None)
        domain = self._origin.domain(draft.sender)
        envelope = foreseen
        if envelope is None or draft.sender.domain != self.sending_domain:
            envelope = self._origin.envelope(message_id, domain, recipient)
        tracking = self._decorator.tracking(
            message_id, recipient, tracked, domain, envelope.inbound_domain
        )
        message = draft.build(message_id, tracking)
        return draft, envelope, self._origin.signed(message, envelope, domain, recipient)

    @cached_property
    def _sender(self) -> Mailbox | None:
        """The From of all messages, if it is known before they are rendered."""
        try:
            return read_mailbox(self._drafter.sender)
        except (ValueError, RenderFault):
            return None

    def _foreseen_envelope(
        self, message_id: str, recipient: StoredRecipient
    ) -> EnvelopeSender | None:
        """Return the envelope before rendering, for templates; ``None`` if they make the From."""
        if self._sender is None:
            return None
        domain = self._origin.domain(self._sender)
        return self._origin.envelope(message_id, domain, recipient)

    @cached_property
    def _drafter(self) -> Drafter:
        return drafter(self._transmission, self._injected_ms)

    def _fault_event(
        self, fault: Ungenerated, index: int, recipient: StoredRecipient, tracked: TrackingOptions
    ) -> Event:
        """Return the event of a recipient without a message."""
        fields = self._header_fields(fault.kind, recipient)
        return self._event_of(fault, index, recipient, self._content_fields(tracked), fields)

    def _event_of(
        self,
        fault: Ungenerated,
        index: int,
        recipient: StoredRecipient,
        content_fields: EventFields,
        header_fields: EventFields | None = None,
    ) -> Event:
        fields = self._recipient_fields(recipient) | self._own(content_fields)
        fields |= header_fields or {}
        # An address may be twice among the recipients; each has an event of its own
        own_fields: EventFields = {**fault.fields, "rcpt_index": index}
        return make_event(
            fault.kind, self.event | fields, self._injected_ms, nonce=str(index), **own_fields
        )

    def _content_fields(self, tracked: TrackingOptions) -> EventFields:
        """Return the event fields about tracking and parts; a message may have none for a pixel."""
        has_markup = has_amp = False
        with suppress(ValueError, RenderFault):  # content that cannot be read has no part
            has_markup, has_amp = self._drafter.has_markup, self._drafter.has_amp
        return _tracking(tracked) | {
            "initial_pixel": tracked.initial_opens and has_markup,
            "amp_enabled": has_amp,
        }

    def _header_fields(self, kind: str, recipient: StoredRecipient) -> EventFields:
        """Return From and subject as far as they are known without a message.

        They are those of ``kind``'s fields: events of refused mail are searched and counted by the
        sending domain as well.
        """
        fields: EventFields = {}
        try:
            fields |= _sender_fields(self._drafter.sender_of(recipient))
        except (ValueError, RenderFault):
            if domain := self.sending_domain:
                fields["sending_domain"] = domain
        with suppress(ValueError, RenderFault):
            fields["subject"] = self._drafter.subject_of(recipient)
        return documented_fields(kind, fields)

    def _recipient_fields(self, recipient: StoredRecipient) -> EventFields:
        provider = mailbox_provider(domain_of(recipient["email"]))
        return recipient_fields(
            recipient["email"],
            metadata=self._transmission.metadata | (recipient.get("metadata") or {}),
            tags=recipient.get("tags") or [],
            rcpt_type=recipient.get("rcpt_type", ""),
        ) | {
            "mailbox_provider": provider.provider,
            "mailbox_provider_region": provider.region,
        }

    def _own(self, fields: EventFields) -> EventFields:
        """Return the fields whose values differ from those that all messages share."""
        shared = self.event.items()
        return cast(EventFields, dict(each for each in fields.items() if each not in shared))


def _tracking(tracked: TrackingOptions) -> EventFields:
    return {"open_tracking": tracked.opens, "click_tracking": tracked.clicks}


def _check_size(message: bytes, recipient: StoredRecipient) -> None:
    if len(message) > (most := settings().max_message_bytes):
        raise failure(f"[internal] message of {len(message)} bytes is over {most}", recipient)


def _shared_fields(transmission: Transmission, ip_pool: str) -> EventFields:
    """Return the event fields that all messages of a transmission share."""
    content, options = transmission.content, transmission.options
    has_amp = bool(content.get("amp_html"))
    has_markup = has_amp or bool(content.get("html") or transmission.raw)
    scheduled_time = str(transmission.start_ms // 1000) if transmission.start_ms else ""
    sender = Sender(
        account_id=transmission.account_id,
        subaccount_id=transmission.subaccount_id,
        transmission_id=transmission.id,
        recv_method=transmission.recv_method,
        template_id=transmission.template_id,
        template_version=transmission.template_version,
        scheduled_time=scheduled_time,
        campaign_id=transmission.campaign_id,
        ip_pool=ip_pool,
        transactional=options["transactional"],
        open_tracking=options["open_tracking"],
        click_tracking=options["click_tracking"],
        initial_pixel=options["initial_open"] and has_markup,
    )
    fields: EventFields = {**sender.fields(), "amp_enabled": has_amp}
    if test := transmission.ab_test:
        fields |= {"ab_test_id": test["id"], "ab_test_version": str(test["version"])}
    return fields


def _sender_fields(sender: Mailbox) -> EventFields:
    """Return the event fields of a From."""
    return {"friendly_from": sender.email, "sending_domain": sender.domain}
