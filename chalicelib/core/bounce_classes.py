"""Define the bounce classes: the number, name, description and category of each.

Categories have ids as well. Undetermined 0 and Hard 1 are public; Soft 2, Block 3 and Admin 4 are
this service's choice, and must not change because stored metrics refer to them.
"""

from __future__ import annotations

from dataclasses import dataclass

UNDETERMINED = 1
INVALID_RECIPIENT = 10
SOFT_BOUNCE = 20
DNS_FAILURE = 21
MAILBOX_FULL = 22
TOO_LARGE = 23
TIMEOUT = 24
ADMIN_FAILURE = 25
NO_RECIPIENT = 30
GENERIC_BOUNCE = 40
MAIL_BLOCK = 50
SPAM_BLOCK = 51
SPAM_CONTENT = 52
PROHIBITED_ATTACHMENT = 53
RELAYING_DENIED = 54
AUTO_REPLY = 60
TRANSIENT_FAILURE = 70
SUBSCRIBE = 80
UNSUBSCRIBE = 90
CHALLENGE_RESPONSE = 100

CATEGORY_IDS = {"Undetermined": 0, "Hard": 1, "Soft": 2, "Block": 3, "Admin": 4}


@dataclass(frozen=True, slots=True)
class BounceClass:
    """One class, as reports show it."""

    number: int
    name: str
    description: str
    category: str

    @property
    def category_id(self) -> int:
        """The number of the class's category."""
        return CATEGORY_IDS[self.category]


_TABLE = (
    (1, "Undetermined", "Undetermined", "The reply is not recognized."),
    (10, "Invalid Recipient", "Hard", "The address does not exist or does not accept mail."),
    (20, "Soft Bounce", "Soft", "The message was refused for a temporary reason."),
    (21, "DNS Failure", "Soft", "The mail host of the domain could not be found in the DNS."),
    (22, "Mailbox Full", "Soft", "The recipient's mailbox is full."),
    (23, "Too Large", "Soft", "The message is larger than the recipient or its host allows."),
    (24, "Timeout", "Soft", "The remote host did not answer in time."),
    (25, "Admin Failure", "Admin", "A rule of this service or of its sender stopped the message."),
    (30, "Generic Bounce: No RCPT", "Hard", "The message had no recipient that could be used."),
    (40, "Generic Bounce", "Soft", "The message was refused and no reason was given."),
    (50, "Mail Block", "Block", "The receiving side blocked the message by its policy."),
    (51, "Spam Block", "Block", "The receiving side considers the sender a source of spam."),
    (52, "Spam Content", "Block", "The receiving side considers the message to be spam."),
    (
        53,
        "Prohibited Attachment",
        "Block",
        "An attachment of the message is not allowed.",
    ),
    (54, "Relaying Denied", "Block", "The remote host does not accept mail for this recipient."),
    (60, "Auto-Reply", "Soft", "An automatic answer, such as a vacation notice."),
    (70, "Transient Failure", "Soft", "The remote host asked to try again later."),
    (80, "Subscribe", "Admin", "The message asks to be subscribed to something."),
    (90, "Unsubscribe", "Hard", "The recipient asks to be unsubscribed."),
    (100, "Challenge-Response", "Soft", "The recipient's side wants the sender to confirm first."),
)

BOUNCE_CLASSES = {
    number: BounceClass(number, name, description, category)
    for number, name, category, description in _TABLE
}
"""Every class by its number."""

HARD = frozenset(c.number for c in BOUNCE_CLASSES.values() if c.category == "Hard")
"""Classes after which the recipient is suppressed: 10, 30 and 90."""

SOFT = frozenset(c.number for c in BOUNCE_CLASSES.values() if c.category == "Soft")
BLOCK = frozenset(c.number for c in BOUNCE_CLASSES.values() if c.category == "Block")
ADMIN = frozenset(c.number for c in BOUNCE_CLASSES.values() if c.category == "Admin")
