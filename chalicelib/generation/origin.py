"""Find the origin of messages: the sending domain, the envelope sender, the keys that sign."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import NamedTuple

from chalicelib.core.addresses import Mailbox, domain_of, in_a_labels
from chalicelib.core.errors import ApiError
from chalicelib.core.reading import Read
from chalicelib.core.settings import settings
from chalicelib.dkim.canonicalization import relaxed_body
from chalicelib.dkim.model import DkimKey
from chalicelib.dkim.sealed_key import private_half
from chalicelib.dkim.signing import Signer, load_signer
from chalicelib.ip_pools.signing import fbl_key, pool_key
from chalicelib.mail_format.mime import UnsignedMessage
from chalicelib.recipient_lists.stored_form import StoredRecipient
from chalicelib.sending_domains import return_path
from chalicelib.sending_domains.lookup import bounce_domain_for, find_usable, signing_key
from chalicelib.sending_domains.model import SendingDomain
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.sender import check_may_send, pool_in_force


class EnvelopeSender(NamedTuple):
    """The envelope sender of a message, and where reports about it come back.

    The service takes mail for the message at ``inbound_domain``; ``report_id`` names the message in
    reports.
    """

    sender: str
    inbound_domain: str
    report_id: str


class Origin:
    """The origin of the messages of one chunk; what they share is looked up once."""

    def __init__(self, transmission: Transmission, injected_ms: int, read: Read) -> None:
        self._transmission = transmission
        self._account_id = transmission.account_id
        self._injected_ms = injected_ms
        self._read = read
        self._domains: dict[str, SendingDomain | ApiError] = {}
        self._bounce_domains: dict[tuple[str, str], str] = {}
        self._keys: dict[str, DkimKey | None] = {}

    @cached_property
    def pool(self) -> str:
        """The pool that the messages leave by; raises 1300 if the sender has none any more."""
        return pool_in_force(self._transmission)

    @property
    def named_pool(self) -> str:
        """Return the pool that events name: the one in force, or else that of the acceptance."""
        if not self._transmission.refusal:
            with suppress(ApiError):
                return self.pool
        return self._transmission.options["ip_pool"]

    def domain(self, sender: Mailbox) -> SendingDomain:
        """Return the sending domain of a From; raises 7001 if the sender may not use it.

        Raises 403 if the sender may not send any more, so that a suspension stops the next chunk,
        and 1300 if its pool may not be used any more.
        """
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
        check_may_send(self._transmission.account_id, self._transmission.subaccount_id)
        _ = self.pool  # raises
        return find_usable(name, *self._transmission.domain_owner, self._read)

    def envelope(
        self, message_id: str, domain: SendingDomain, recipient: StoredRecipient
    ) -> EnvelopeSender:
        """Return the envelope sender: ours, at the domain that takes this sender's bounces.

        An enterprise account's own return path is kept whole (spec 2.1).
        """
        requested = self._transmission.return_path_for(recipient)
        bounce_domain = self._bounce_domain(domain, requested)
        report_id = return_path.local_part(message_id, self._injected_ms)
        if requested and self._transmission.is_of_enterprise:
            return EnvelopeSender(
                in_a_labels(requested) or requested, settings().system_domain, report_id
            )
        return EnvelopeSender(f"{report_id}@{bounce_domain}", bounce_domain, report_id)

    def _bounce_domain(self, domain: SendingDomain, requested: str) -> str:
        key = (domain.domain, requested)
        if key not in self._bounce_domains:
            self._bounce_domains[key] = bounce_domain_for(
                self._transmission.account_id,
                self._transmission.subaccount_id,
                requested,
                sending=domain,
                read=self._read,
            )
        return self._bounce_domains[key]

    def signed(
        self,
        message: UnsignedMessage,
        envelope: EnvelopeSender,
        domain: SendingDomain,
        recipient: StoredRecipient,
    ) -> bytes:
        """Return the message behind its signatures and the header that names it in reports.

        Each key that signs for this recipient adds a signature.
        """
        keys = [self._signing_key(domain), self._feedback_key(recipient)]
        seconds = self._injected_ms // 1000
        signatures = [
            _signer(key).sign(message.data, seconds, _relaxed(message)) for key in keys if key
        ]
        report_header = f"{return_path.HEADER}: {envelope.report_id}\r\n"
        return message.after(*signatures, report_header.encode())

    def _signing_key(self, domain: SendingDomain) -> DkimKey | None:
        """Return the key of the sending domain, else that of the pool (spec 2.8)."""
        if domain.domain not in self._keys:
            selector = self._transmission.options.get("dkim_key")
            own_key = signing_key(domain, selector)
            self._keys[domain.domain] = own_key or pool_key(self._account_id, self.pool)
        return self._keys[domain.domain]

    def _feedback_key(self, recipient: StoredRecipient) -> DkimKey | None:
        """Return the pool's key for hosts that want one for their feedback loop (spec 2.8)."""
        return fbl_key(self._account_id, self.pool, domain_of(recipient["email"]))


def _relaxed(message: UnsignedMessage) -> bytes | Iterable[bytes] | None:
    return relaxed_body(*message.tail) if message.tail.octets else message.relaxed_body


@lru_cache(maxsize=256)
def _signer(key: DkimKey) -> Signer:
    headers = tuple(key.headers.split(":"))
    return load_signer(private_half(key), key.selector, key.signing_domain, headers)
