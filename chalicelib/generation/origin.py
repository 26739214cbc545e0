"""Where a message comes from: its sending domain, its envelope sender, the keys that sign it."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from chalicelib.core.addresses import Mailbox, domain_of
from chalicelib.core.errors import ApiError
from chalicelib.core.reading import Read
from chalicelib.core.settings import settings
from chalicelib.dkim.model import DkimKey
from chalicelib.dkim.sealed_key import private_half
from chalicelib.dkim.signing import Signer, load_signer
from chalicelib.fleet.signing import fbl_key, pool_key
from chalicelib.sending_domains import return_path
from chalicelib.sending_domains import store as domains
from chalicelib.sending_domains.lookup import bounce_domain_for, check_usable, signing_key
from chalicelib.sending_domains.model import SendingDomain
from chalicelib.transmissions.model import Json, Transmission
from chalicelib.transmissions.sandbox import owner_of_domain


class Envelope(NamedTuple):
    """The envelope sender of a message, the domain at which the service takes mail for it, and what
    names it in reports.
    """

    sender: str
    inbound_domain: str
    report_id: str


class Origin:
    """The origin of the messages of one chunk; what they share is found once."""

    def __init__(self, sent: Transmission, made_ms: int, read: Read) -> None:
        self._sent = sent
        self._made_ms = made_ms
        self._read = read
        self._domains: dict[str, SendingDomain | ApiError] = {}
        self._bounce_domains: dict[tuple[str, str], str] = {}
        self._keys: dict[str, DkimKey | None] = {}

    def domain(self, sender: Mailbox) -> SendingDomain:
        """Return the sending domain of a From; raises 7001 if the sender may not use it."""
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
        item = self._read([place := domains.key_of(name)]).get(place)
        found = domains.from_item(item) if item else None
        return check_usable(found, name, *owner_of_domain(self._sent))

    def envelope(self, message_id: str, domain: SendingDomain, recipient: Json) -> Envelope:
        """Return the envelope sender: ours, at the domain that takes this sender's bounces.

        An enterprise account's own choice is kept whole (spec 2.1).
        """
        wanted = recipient.get("return_path") or self._sent.return_path
        bounce_domain = self._bounce_domain(domain, wanted)
        report_id = return_path.local_part(message_id, self._made_ms)
        if wanted and self._sent.defaults.get("enterprise"):
            return Envelope(wanted, settings().system_domain, report_id)
        return Envelope(f"{report_id}@{bounce_domain}", bounce_domain, report_id)

    def _bounce_domain(self, domain: SendingDomain, wanted: str) -> str:
        key = (domain.domain, wanted)
        if key not in self._bounce_domains:
            sent = self._sent
            self._bounce_domains[key] = bounce_domain_for(
                sent.account_id, sent.subaccount_id, wanted, sending=domain, read=self._read
            )
        return self._bounce_domains[key]

    def marked(
        self, message: bytes, envelope: Envelope, domain: SendingDomain, recipient: Json
    ) -> bytes:
        """Return the message with what tells where it comes from, all of it in front.

        That is a signature by each key that signs for this recipient, and the header that names
        the message in reports about it.
        """
        keys = [self._signing_key(domain), self._feedback_key(recipient)]
        at = self._made_ms // 1000
        signatures = [_signer(key).sign(message, timestamp=at) for key in keys if key]
        named = f"{return_path.HEADER}: {envelope.report_id}\r\n"
        return b"".join([*signatures, named.encode(), message])

    def _signing_key(self, domain: SendingDomain) -> DkimKey | None:
        """Return the key of the sending domain, else that of the pool (spec 2.8)."""
        if domain.domain not in self._keys:
            sent = self._sent
            found = signing_key(domain, sent.options.get("dkim_key"))
            self._keys[domain.domain] = found or pool_key(sent.account_id, sent.options["ip_pool"])
        return self._keys[domain.domain]

    def _feedback_key(self, recipient: Json) -> DkimKey | None:
        """Return the pool's key for hosts that want one for their feedback loop (spec 2.8)."""
        sent = self._sent
        return fbl_key(sent.account_id, sent.options["ip_pool"], domain_of(recipient["email"]))


@lru_cache(maxsize=256)
def _signer(key: DkimKey) -> Signer:
    headers = tuple(key.headers.split(":"))
    return load_signer(private_half(key), key.selector, key.signing_domain, headers)
