"""One message from one recipient: merge, render, compose, sign."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

from chalicelib.core import clock, ids, recent, sealing
from chalicelib.core.addresses import Mailbox, domain_of
from chalicelib.core.errors import ApiError
from chalicelib.core.settings import settings
from chalicelib.delivery.parcel import FinishedMessage
from chalicelib.events.model import Event, Sender, make, recipient_fields
from chalicelib.generation.drafts import Drafter, drafter
from chalicelib.generation.render import RenderFault
from chalicelib.ip_pools import store as ip_pools
from chalicelib.ip_pools.signing import fbl_key, pool_key
from chalicelib.sending_domains import return_path
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.dkim import Signer, load_signer
from chalicelib.sending_domains.lookup import (
    bounce_domain_for,
    check_found,
    signing_key,
)
from chalicelib.sending_domains.model import DkimKey, SendingDomain
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.sandbox import owner_of_domain

Json = dict[str, Any]


class NotGenerated(Exception):
    """No message came to be; ``event`` tells of it."""

    def __init__(self, event: Event) -> None:
        super().__init__(event["reason"])
        self.event = event


class _Ungenerated(Exception):
    """No message comes to be: an event of type ``kind`` with these fields does."""

    def __init__(self, kind: str, fields: Event) -> None:
        super().__init__(fields["reason"])
        self.kind = kind
        self.fields = {name: value for name, value in fields.items() if name != "type"}


class Generator:
    """Makes the messages of one chunk. ``event`` holds the fields that all its events share."""

    def __init__(self, transmission: Transmission, injected_ms: int) -> None:
        self._transmission = transmission
        self._injected_ms = injected_ms
        self.event: Event = _shared_fields(transmission)
        self._domains: dict[str, SendingDomain | ApiError] = {}
        self._bounce_domains: dict[tuple[str, str], str] = {}
        self._keys: dict[str, DkimKey | None] = {}

    def generate(self, index: int, recipient: Json) -> FinishedMessage:
        """Return the finished message; raises :class:`NotGenerated`."""
        try:
            return self._generate(index, recipient)
        except _Ungenerated as fault:
            base = self.event | self._about(recipient)
            # Recipients may be named twice; each has an event of its own
            event = make(fault.kind, base, self._injected_ms, nonce=str(index), **fault.fields)
            raise NotGenerated(event) from None

    def _generate(self, index: int, recipient: Json) -> FinishedMessage:
        if refusal := self._transmission.refusal:
            raise _Ungenerated(refusal["type"], refusal)
        message_id = ids.message_id(self._transmission.id, index)
        try:
            draft = self._drafter.draft(recipient)
            domain = self._domain_of(draft.sender)
            data = self._sign(draft.build(message_id), domain, recipient)
            msg_from = self._return_path(message_id, domain, recipient)
        except ApiError as refusal:
            raise _rejected(f"[internal] {refusal}", recipient) from None
        except (ValueError, RenderFault) as fault:
            raise _failed(str(fault), recipient) from None
        if len(data) > settings().max_message_bytes:
            text = f"[internal] message of {len(data)} bytes is over {settings().max_message_bytes}"
            raise _failed(text, recipient)
        about = self._about(recipient) | {
            "message_id": message_id,
            "subject": draft.subject,
            "friendly_from": draft.sender.email,
            "msg_from": msg_from,
            "msg_size": str(len(data)),
            "sending_domain": draft.sender.domain,
            "injection_time": clock.iso_ms(self._injected_ms),
        }
        return FinishedMessage(index, msg_from, recipient["email"], about, data)

    @cached_property
    def _drafter(self) -> Drafter:
        return drafter(self._transmission, self._injected_ms)

    def _domain_of(self, sender: Mailbox) -> SendingDomain:
        """Return the sending domain, looked up once per chunk: blocking it stops the next one."""
        name = sender.domain
        if name not in self._domains:
            try:
                self._domains[name] = self._find_domain(name)
            except ApiError as refusal:
                self._domains[name] = refusal
        domain = self._domains[name]
        if isinstance(domain, ApiError):
            raise domain
        return domain

    def _find_domain(self, name: str) -> SendingDomain:
        """Look up a sending domain, and in the same request the pools that delivery asks for."""
        sent = self._transmission
        place = domains.key_of(name)
        items = recent.read([], maybe=[ip_pools.key_of(sent.account_id)], anew=[place])
        found = domains.from_item(items[place]) if place in items else None
        return check_found(found, name, *owner_of_domain(sent))

    def _return_path(self, message_id: str, domain: SendingDomain, recipient: Json) -> str:
        """Return the envelope sender: ours, at the domain that takes this sender's bounces.

        An enterprise account's own choice is kept whole (spec 2.1).
        """
        sent = self._transmission
        wanted = recipient.get("return_path") or sent.return_path
        key = (domain.domain, wanted)
        if key not in self._bounce_domains:
            self._bounce_domains[key] = bounce_domain_for(
                sent.account_id, sent.subaccount_id, wanted, sending=domain
            )
        if wanted and sent.defaults.get("enterprise"):
            return wanted
        return return_path.address(message_id, self._bounce_domains[key])

    def _sign(self, message: bytes, domain: SendingDomain, recipient: Json) -> bytes:
        """Return the message with a signature by each key that signs for this recipient."""
        keys = [self._signing_key(domain), self._feedback_key(recipient)]
        at = self._injected_ms // 1000
        signatures = [_signer(key).sign(message, timestamp=at) for key in keys if key]
        return b"".join([*signatures, message])

    def _signing_key(self, domain: SendingDomain) -> DkimKey | None:
        """Return the key of the sending domain, else that of the pool (spec 2.8)."""
        if domain.domain not in self._keys:
            sent = self._transmission
            found = signing_key(domain, sent.options.get("dkim_key"))
            self._keys[domain.domain] = found or pool_key(sent.account_id, sent.options["ip_pool"])
        return self._keys[domain.domain]

    def _feedback_key(self, recipient: Json) -> DkimKey | None:
        """Return the pool's key for hosts that want one for their feedback loop (spec 2.8)."""
        sent = self._transmission
        name = domain_of(recipient["email"])
        return fbl_key(sent.account_id, sent.options["ip_pool"], name)

    def _about(self, recipient: Json) -> Event:
        return recipient_fields(
            recipient["email"],
            metadata=self._transmission.metadata | (recipient.get("metadata") or {}),
            tags=recipient.get("tags") or [],
            rcpt_type=recipient.get("rcpt_type", ""),
        ) | self._own_tracking(recipient)

    def _own_tracking(self, recipient: Json) -> Event:
        """Return the recipient's own options, which beat the transmission's (spec 2.1)."""
        own = recipient.get("options") or {}
        names = {"open_tracking": "open_tracking", "click_tracking": "click_tracking"}
        names["initial_open"] = "initial_pixel"
        return {field: own[name] for name, field in names.items() if name in own}


def _failed(text: str, recipient: Json) -> _Ungenerated:
    """Return the fault of a message that could not be made of what was given."""
    return _ungenerated("generation_failure", f"554 5.3.3 {text}", recipient)


def _rejected(text: str, recipient: Json) -> _Ungenerated:
    """Return the fault of a message that may not be sent."""
    found = _ungenerated("generation_rejection", f"550 5.7.1 {text}", recipient)
    found.fields["bounce_class"] = "25"
    return found


def _ungenerated(kind: str, reason: str, recipient: Json) -> _Ungenerated:
    fields = {
        "error_code": reason[:3],
        "reason": reason,
        "raw_reason": reason,
        "rcpt_subs": recipient.get("substitution_data") or {},
    }
    return _Ungenerated(kind, fields)


def _shared_fields(sent: Transmission) -> Event:
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
        initial_pixel=sent.options["initial_open"],
    ).fields() | {
        "amp_enabled": bool(sent.content.get("amp_html")),
        **{f"ab_test_{name}": str(value) for name, value in sent.ab_test.items()},
    }


@lru_cache(maxsize=256)
def _signer(key: DkimKey) -> Signer:
    private = sealing.open_sealed(key.sealed_private, f"dkim/{key.signing_domain}")
    return load_signer(
        private.decode(), key.selector, key.signing_domain, tuple(key.headers.split(":"))
    )
