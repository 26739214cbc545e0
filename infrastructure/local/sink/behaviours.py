"""Choose how the sink behaves by a recipient's local part; a plus-tag after the name is allowed.

    bounce-hard, bounce-soft, bounce-block   refused at RCPT
    defer                                    4xx to the first two attempts, then accepted
    slow                                     accepted after a wait
    oob, complain, open, click, unsubscribe  accepted, then answered (see `reactions`)

The sink accepts every other address and does nothing more.
"""

import hashlib
from collections import OrderedDict

from infrastructure.local.mailbox.header_fields import field, header_block

REFUSALS = {
    "bounce-hard": "550 5.1.1 Recipient address rejected: user unknown",
    "bounce-soft": "552 5.2.2 Mailbox full: recipient is over quota",
    "bounce-block": "550 5.7.1 Sending host blocked: it is listed as a source of spam",
}
DEFERRAL = "451 4.7.1 Greylisted, please try again later"
DEFERRED_ATTEMPTS = 2


def behaviour_of(recipient: str) -> str:
    """The local part in lower case without its plus-tag: a behaviour's name, or any other."""
    local_part = recipient.rpartition("@")[0]
    return local_part.partition("+")[0].lower()


class Deferrals:
    """Counts the attempts at each `defer` recipient and message, forgetting the oldest ones.

    A message is known by its Message-ID, so that several messages to one address are each
    deferred; one without it by its content.
    """

    def __init__(self, remembered: int = 10_000) -> None:
        self._remembered = remembered
        self._attempts: OrderedDict[tuple[str, str], int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._attempts)

    def defers(self, recipient: str, message: bytes) -> bool:
        """Count an attempt: True when it must be deferred."""
        if behaviour_of(recipient) != "defer":
            return False
        key = (recipient.lower(), _identity(message))
        attempt = self._attempts.pop(key, 0) + 1
        self._attempts[key] = attempt
        if len(self._attempts) > self._remembered:
            self._attempts.popitem(last=False)
        return attempt <= DEFERRED_ATTEMPTS


def _identity(message: bytes) -> str:
    return field(header_block(message), "Message-ID") or hashlib.sha256(message).hexdigest()
