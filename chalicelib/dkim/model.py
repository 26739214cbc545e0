"""Define a DKIM key as it is stored: public half, sealed private half, and name of its record."""

from __future__ import annotations

from dataclasses import dataclass, field

DEFAULT_SIGNED_HEADERS = "from:to:subject:date"


@dataclass(frozen=True, slots=True)
class DkimKey:
    """One key; ``dkim.sealed_key`` seals and opens its private half.

    ``public`` is SubjectPublicKeyInfo in base64; ``headers`` are names to sign, colon-separated.
    """

    selector: str
    signing_domain: str
    public: str
    sealed_private: bytes = field(repr=False)
    headers: str = DEFAULT_SIGNED_HEADERS

    @property
    def record_name(self) -> str:
        """Return the name of the DNS record that publishes the key."""
        return f"{self.selector}._domainkey.{self.signing_domain}"
