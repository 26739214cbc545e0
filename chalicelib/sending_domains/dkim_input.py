"""A DKIM key as callers give it, or made for them (spec 2.5 rule 1, 4.4).

What works on keys is imported where it is used: most requests have none and need not wait for it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from chalicelib.core import clock, domain_names, sealing
from chalicelib.core.errors import ApiError, bad_format, missing_field
from chalicelib.core.fields import Body
from chalicelib.sending_domains.model import DEFAULT_SIGNED_HEADERS, DkimKey

if TYPE_CHECKING:
    from chalicelib.sending_domains.dkim_keys import KeyPair

KEY_LENGTHS: Final = (1024, 2048, 3072, 4096)
DEFAULT_KEY_LENGTH: Final = 1024
MOST_HEADERS: Final = 1000  # characters of their list


class DkimBody(Body):
    """The ``dkim`` object of a request."""

    public: str | None = None
    private: str | None = None
    selector: str | None = None
    signing_domain: str | None = None
    headers: str | None = None

    @property
    def has_key(self) -> bool:
        """Tell whether it brings a key; without one its other fields are for a key to be made."""
        return self.public is not None or self.private is not None


def default_selector() -> str:
    """Return the selector of keys made now: ``scph`` with month and year, such as ``scph0126``."""
    return f"scph{datetime.fromtimestamp(clock.now(), UTC):%m%y}"


def given_key(given: DkimBody, domain: str) -> DkimKey:
    """Return the key in the request; raises 1400 and 1300 for what is missing or wrong."""
    from chalicelib.sending_domains import dkim_keys

    if given.private is None:
        raise missing_field("dkim.private is a required field")
    try:
        public = dkim_keys.public_from_private(given.private)
        if given.public is not None:
            dkim_keys.check_pair(given.private, given.public)
    except dkim_keys.DkimKeyError as error:
        raise _bad_key(error) from None
    return _sealed(given, domain, dkim_keys.KeyPair(given.private, public))


def made_key(given: DkimBody, domain: str, bits: int | None) -> DkimKey:
    """Make a key with the selector, signing domain and headers that were asked for."""
    bits = DEFAULT_KEY_LENGTH if bits is None else bits
    if bits not in KEY_LENGTHS:
        lengths = ", ".join(map(str, KEY_LENGTHS))
        raise bad_format(f"dkim_key_length must be one of {lengths}, not {bits}")
    from chalicelib.sending_domains.dkim_keys import generate_key

    return _sealed(given, domain, generate_key(bits))


def changed_key(before: DkimKey | None, given: DkimBody, domain: str) -> DkimKey:
    """Return the key of a domain as the request changes it; what it leaves out stays.

    A public key that is the present one stands for the present pair, so that what was shown can be
    sent back. Raises as :func:`given_key`.
    """
    if before is None:
        return given_key(given, domain)
    kept = {
        name: getattr(before, name)
        for name in ("selector", "signing_domain", "headers")
        if getattr(given, name) is None
    }
    given = given.model_copy(update=kept)
    if given.private is not None or given.public not in (None, before.public):
        return given_key(given, domain)
    from chalicelib.sending_domains.dkim_keys import KeyPair

    private = sealing.open_sealed(before.sealed_private, f"dkim/{before.signing_domain}")
    return _sealed(given, domain, KeyPair(private.decode(), before.public))


def _sealed(given: DkimBody, domain: str, pair: KeyPair) -> DkimKey:
    from chalicelib.sending_domains.dkim import DkimError, Signer

    selector = default_selector() if given.selector is None else given.selector
    signing_domain = _signing_domain(given.signing_domain, domain)
    headers = given.headers or DEFAULT_SIGNED_HEADERS
    if len(headers) > MOST_HEADERS:
        raise bad_format(f"dkim.headers has more than {MOST_HEADERS} characters")
    try:
        Signer(pair.private_pem, selector, signing_domain, headers.split(":"))
    except DkimError as error:
        raise _bad_key(error) from None
    sealed = sealing.seal(pair.private_pem.encode(), f"dkim/{signing_domain}")
    key = DkimKey(selector, signing_domain, pair.public_b64, sealed, headers)
    longest_label = max(map(len, selector.split(".")))
    if len(key.record_name) > domain_names.LONGEST or longest_label > domain_names.LONGEST_LABEL:
        raise bad_format("dkim: the selector is too long for a DNS record of the signing domain")
    return key


def _signing_domain(given: str | None, domain: str) -> str:
    if not given:
        return domain
    try:
        name = domain_names.canonical(given)
    except domain_names.BadName as error:
        raise bad_format(f"dkim.signing_domain '{given[:300]}' is no domain: {error}") from None
    if domain_names.is_public_suffix(name):
        raise bad_format(f"dkim.signing_domain '{name}' is nobody's domain")
    return name


def _bad_key(error: ValueError) -> ApiError:
    return bad_format(f"dkim: {error}")
