"""List the rules of Gmail, Yahoo and Outlook.com for senders, each with the page that states it.

The rules of 2024 and later, for senders of more than 5,000 messages a day:

- Gmail, since February 2024, "Email sender guidelines": SPF and DKIM, keys of 1024 bits or more,
  DMARC with at least ``p=none``, From aligned with the SPF or the DKIM domain, PTR records that
  resolve back, TLS, one-click unsubscribe. Its page on the feedback loop describes ``Feedback-ID``.
- Yahoo, since February 2024, "Sender Best Practices": SPF and DKIM, DMARC with at least ``p=none``,
  relaxed alignment, forward and reverse DNS of sending IPs, one-click unsubscribe.
- Outlook.com, since May 2025, "Outlook's new requirements for high-volume senders": SPF, DKIM and
  DMARC with at least ``p=none`` and alignment with one of them (refusals: 550 5.7.515); a From or
  Reply-To address that can receive replies, and a working unsubscribe link.

The name in EHLO is not on these pages: RFC 5321 requires it, and many hosts compare it.
"""

from __future__ import annotations

from typing import Final

from chalicelib.sender_requirements.model import Rule, Source

GMAIL: Final = Source("Gmail", "https://support.google.com/a/answer/81126")
YAHOO: Final = Source("Yahoo", "https://senders.yahooinc.com/best-practices/")
OUTLOOK: Final = Source(
    "Outlook.com",
    "https://techcommunity.microsoft.com/blog/microsoftdefenderforoffice365blog/"
    "strengthening-email-ecosystem-outlook%E2%80%99s-new-requirements-for-high%E2%80%90volume-"
    "senders/4399730",
)
RFC_5321: Final = Source("RFC 5321", "https://www.rfc-editor.org/rfc/rfc5321#section-4.1.4")
_ALL: Final = (GMAIL, YAHOO, OUTLOOK)

SPF: Final = Rule("spf", "SPF lets the sending addresses send", _ALL)
DKIM: Final = Rule("dkim", "Mail is signed with DKIM", _ALL)
DKIM_KEY_LENGTH: Final = Rule("dkim_key_length", "The DKIM key has 1024 bits or more", (GMAIL,))
DMARC: Final = Rule("dmarc", "A DMARC record states a policy", _ALL)
ALIGNMENT: Final = Rule("alignment", "The From domain matches the DKIM or SPF domain", _ALL)
REPLIES: Final = Rule("replies", "The From domain can receive replies", (OUTLOOK,))
TLS: Final = Rule("tls", "Mail is transmitted over TLS", (GMAIL,))
UNSUBSCRIBE: Final = Rule(
    "one_click_unsubscribe", "Bulk mail offers to unsubscribe with one click", (GMAIL, YAHOO)
)

PTR: Final = Rule("ptr", "The address has a PTR record", (GMAIL, YAHOO))
FORWARD_CONFIRMED: Final = Rule(
    "forward_confirmed", "The name in the PTR record leads back to the address", (GMAIL, YAHOO)
)
EHLO: Final = Rule("ehlo", "The name in EHLO is that of the PTR record", (RFC_5321,))

DOMAIN_RULES: Final = (
    *(SPF, DKIM, DKIM_KEY_LENGTH, DMARC),
    *(ALIGNMENT, REPLIES, TLS, UNSUBSCRIBE),
)
ADDRESS_RULES: Final = (PTR, FORWARD_CONFIRMED, EHLO)
