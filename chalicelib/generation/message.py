"""One message from one recipient: merge, render, compose, sign."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

from chalicelib.core import clock, ids, sealing
from chalicelib.core.addresses import Mailbox
from chalicelib.core.errors import ApiError
from chalicelib.core.settings import settings
from chalicelib.delivery.parcel import FinishedMessage
from chalicelib.events.model import Event, Sender, make, recipient_fields
from chalicelib.generation.compose import Rendered, compose
from chalicelib.generation.prebuilt import Prebuilt
from chalicelib.generation.render import RenderFault, render
from chalicelib.sending_domains import return_path
from chalicelib.sending_domains.dkim import Signer, load_signer
from chalicelib.sending_domains.lookup import check_sending_domain
from chalicelib.sending_domains.model import DkimKey, SendingDomain
from chalicelib.template_language import merge_data
from chalicelib.transmissions.model import Transmission

Json = dict[str, Any]


class NotGenerated(Exception):
    """No message came to be; ``event`` tells of it."""

    def __init__(self, event: Event) -> None:
        super().__init__(event["reason"])
        self.event = event


class Generator:
    """Makes the messages of one chunk. ``event`` holds the fields that all its events share."""

    def __init__(self, transmission: Transmission, injected_ms: int) -> None:
        self._transmission = transmission
        self._injected_ms = injected_ms
        self.event: Event = _shared_fields(transmission)
        self._domains: dict[str, SendingDomain | ApiError] = {}

    def generate(self, index: int, recipient: Json) -> FinishedMessage:
        """Return the finished message; raises :class:`NotGenerated`."""
        message_id = ids.message_id(self._transmission.id, index)
        try:
            sender, subject, build = self._content(recipient)
            domain = self._domain_of(sender, recipient)
            unsigned = build(message_id)
        except ValueError as fault:
            raise self._not_generated("generation_failure", recipient, str(fault)) from None
        data = self._sign(unsigned, domain)
        if len(data) > settings().max_message_bytes:
            text = f"message of {len(data)} bytes exceeds {settings().max_message_bytes}"
            raise self._not_generated("generation_failure", recipient, text)
        msg_from = return_path.address(message_id, _bounce_domain(domain))
        about = self._about(recipient) | {
            "message_id": message_id,
            "subject": subject,
            "friendly_from": sender.email,
            "msg_from": msg_from,
            "msg_size": str(len(data)),
            "sending_domain": sender.domain,
            "injection_time": clock.iso_ms(self._injected_ms),
        }
        return FinishedMessage(index, msg_from, recipient["email"], about, data)

    def _content(self, recipient: Json) -> tuple[Mailbox, str, Callable[[str], bytes]]:
        """Return From, subject and what builds the unsigned message from its id."""
        if self._prebuilt is not None:
            mail = self._prebuilt
            return mail.sender, mail.subject, lambda message_id: mail.build(message_id)
        rendered = self._render(recipient)
        return (
            rendered.sender,
            rendered.subject,
            lambda message_id: compose(rendered, recipient, message_id, self._injected_ms),
        )

    @cached_property
    def _prebuilt(self) -> Prebuilt | None:
        raw = self._transmission.raw
        return Prebuilt(raw, self._injected_ms) if raw else None

    def _render(self, recipient: Json) -> Rendered:
        sent = self._transmission
        data = merge_data(
            transmission_metadata=sent.metadata,
            transmission_data=sent.substitution_data,
            recipient_metadata=recipient.get("metadata") or {},
            recipient_data=recipient.get("substitution_data") or {},
            address=recipient,
        )
        try:
            return render(sent.content, data, sent.substitution_data)
        except RenderFault as fault:
            raise self._not_generated("generation_failure", recipient, str(fault)) from None

    def _domain_of(self, sender: Mailbox, recipient: Json) -> SendingDomain:
        """Return the sending domain, looked up once per chunk: blocking it stops the next one."""
        name = sender.domain
        if name not in self._domains:
            sent = self._transmission
            try:
                found = check_sending_domain(name, sent.account_id, sent.subaccount_id)
                self._domains[name] = found
            except ApiError as refusal:
                self._domains[name] = refusal
        domain = self._domains[name]
        if isinstance(domain, ApiError):
            raise self._not_generated("generation_rejection", recipient, f"[internal] {domain}")
        return domain

    def _sign(self, message: bytes, domain: SendingDomain) -> bytes:
        key = domain.signing_key
        if key is None:
            return message
        return _signer(key).sign(message, timestamp=self._injected_ms // 1000) + message

    def _about(self, recipient: Json) -> Event:
        return recipient_fields(
            recipient["email"],
            metadata=self._transmission.metadata | (recipient.get("metadata") or {}),
            tags=recipient.get("tags") or [],
            rcpt_type=recipient.get("rcpt_type", ""),
        )

    def _not_generated(self, kind: str, recipient: Json, text: str) -> NotGenerated:
        reason = f"554 5.3.3 {text}" if kind == "generation_failure" else f"550 5.7.1 {text}"
        fields: Event = {
            "error_code": reason[:3],
            "reason": reason,
            "raw_reason": reason,
            "rcpt_subs": recipient.get("substitution_data") or {},
        }
        if kind == "generation_rejection":
            fields["bounce_class"] = "25"
        base = self.event | self._about(recipient)
        return NotGenerated(make(kind, base, self._injected_ms, **fields))


def _shared_fields(sent: Transmission) -> Event:
    return Sender(
        account_id=sent.account_id,
        subaccount_id=sent.subaccount_id,
        transmission_id=sent.id,
        recv_method=sent.recv_method,
        campaign_id=sent.campaign_id,
        ip_pool=sent.options["ip_pool"],
        transactional=sent.options["transactional"],
        open_tracking=sent.options["open_tracking"],
        click_tracking=sent.options["click_tracking"],
        initial_pixel=sent.options["initial_open"],
    ).fields() | {"amp_enabled": bool(sent.content.get("amp_html"))}


def _bounce_domain(domain: SendingDomain) -> str:
    return domain.domain if domain.is_default_bounce_domain else settings().system_domain


@lru_cache(maxsize=256)
def _signer(key: DkimKey) -> Signer:
    private = sealing.open_sealed(key.sealed_private, f"dkim/{key.signing_domain}")
    return load_signer(
        private.decode(), key.selector, key.signing_domain, tuple(key.headers.split(":"))
    )
