"""Name how TLS with a mail host went, as TLS reports do (RFC 8460 4.3, 4.4).

The service writes such reports about other domains, and reads those of others about its own.
"""

from __future__ import annotations

from typing import Final

STS: Final = "sts"
TLSA: Final = "tlsa"
NO_POLICY: Final = "no-policy-found"

POLICY_TYPES: Final = (STS, TLSA, NO_POLICY)
"""The policies of encryption that a report is about."""

SUCCESS: Final = ""
NO_STARTTLS: Final = "starttls-not-supported"
HOST_MISMATCH: Final = "certificate-host-mismatch"
EXPIRED: Final = "certificate-expired"
NOT_TRUSTED: Final = "certificate-not-trusted"
INVALID: Final = "validation-failure"
DNSSEC_INVALID: Final = "dnssec-invalid"
STS_FETCH_ERROR: Final = "sts-policy-fetch-error"
STS_INVALID: Final = "sts-policy-invalid"
STS_UNTRUSTED: Final = "sts-webpki-invalid"

FAILURES: Final = (
    NO_STARTTLS,
    HOST_MISMATCH,
    EXPIRED,
    NOT_TRUSTED,
    INVALID,
    "tlsa-invalid",
    DNSSEC_INVALID,
    "dane-required",
    STS_FETCH_ERROR,
    STS_INVALID,
    STS_UNTRUSTED,
)
"""Why sessions failed. Only others report the two without a name."""
