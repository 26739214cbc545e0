"""Turn the ``dkim`` object of a request into a key: imported, generated or changed.

Spec 2.5 rule 1 and 4.4. The modules that work on keys are imported inside functions, because most
requests bring no key and a cold start should not load cryptography for them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from chalicelib.core import clock, domain_names
from chalicelib.core.errors import ApiError, bad_format, missing_field
from chalicelib.core.fields import Body
from chalicelib.dkim.model import DEFAULT_SIGNED_HEADERS, DkimKey

if TYPE_CHECKING:
    from chalicelib.dkim.key_pair import KeyPair

KEY_LENGTHS: Final = (1024, 2048, 3072, 4096)
DEFAULT_KEY_LENGTH: Final = 1024
MOST_HEADERS: Final = 1000  # characters of the header list


class DkimBody(Body):
    """The ``dkim`` object of a request."""

    public: str | None = None
    private: str | None = None
    selector: str | None = None
    signing_domain: str | None = None
    headers: str | None = None

    @property
    def has_key(self) -> bool:
        """Tell whether the object holds a key; without one, a key is generated from the rest."""
        return self.public is not None or self.private is not None


def default_selector() -> str:
    """Return ``scph`` with the present month and year, such as ``scph0126``."""
    return f"scph{datetime.fromtimestamp(clock.now(), UTC):%m%y}"


def imported_key(body: DkimBody, domain: str) -> DkimKey:
    """Return the key in the request; raises 1400 and 1300 for what is missing or wrong."""
    from chalicelib.dkim.key_pair import DkimKeyError, KeyPair, check_pair, public_from_private

    if body.private is None:
        raise missing_field("dkim.private is a required field")
    try:
        public = public_from_private(body.private)
        if body.public is not None:
            check_pair(body.private, body.public)
    except DkimKeyError as error:
        raise _bad_key(error) from None
    return _checked_key(body, domain, KeyPair(body.private, public))


def generated_key(body: DkimBody, domain: str, bits: int | None) -> DkimKey:
    """Generate a key with the selector, signing domain and headers of the request."""
    bits = DEFAULT_KEY_LENGTH if bits is None else bits
    if bits not in KEY_LENGTHS:
        lengths = ", ".join(map(str, KEY_LENGTHS))
        raise bad_format(f"dkim_key_length must be one of {lengths}, not {bits}")
    from chalicelib.dkim.key_pair import generate_key

    return _checked_key(body, domain, generate_key(bits))


def changed_key(before: DkimKey | None, body: DkimBody, domain: str) -> DkimKey:
    """Return the key ``before`` with the changes of the request; fields left out stay.

    A client may send back the public key that the API showed: it stands for the present pair.
    Raises as :func:`imported_key`.
    """
    if before is None:
        return imported_key(body, domain)
    unchanged = {
        name: getattr(before, name)
        for name in ("selector", "signing_domain", "headers")
        if getattr(body, name) is None
    }
    body = body.model_copy(update=unchanged)
    if body.private is not None or body.public not in (None, before.public):
        return imported_key(body, domain)
    from chalicelib.dkim.key_pair import KeyPair
    from chalicelib.dkim.sealed_key import private_half

    return _checked_key(body, domain, KeyPair(private_half(before), before.public))


def _checked_key(body: DkimBody, domain: str, pair: KeyPair) -> DkimKey:
    """Return the sealed key if it can sign with the names in the request."""
    from chalicelib.dkim.sealed_key import sealed_key
    from chalicelib.dkim.signing import DkimError, Signer

    selector = default_selector() if body.selector is None else body.selector
    signing_domain = _signing_domain(body.signing_domain, domain)
    headers = body.headers or DEFAULT_SIGNED_HEADERS
    if len(headers) > MOST_HEADERS:
        raise bad_format(f"dkim.headers has more than {MOST_HEADERS} characters")
    try:
        Signer(pair.private_pem, selector, signing_domain, headers.split(":"))
    except DkimError as error:
        raise _bad_key(error) from None
    key = sealed_key(pair, selector, signing_domain, headers)
    longest_label = max(map(len, selector.split(".")))
    if len(key.record_name) > domain_names.LONGEST or longest_label > domain_names.LONGEST_LABEL:
        raise bad_format("dkim: the selector is too long for a DNS record of the signing domain")
    return key


def _signing_domain(text: str | None, domain: str) -> str:
    if not text:
        return domain
    try:
        name = domain_names.canonical(text)
    except domain_names.BadName as error:
        raise bad_format(f"dkim.signing_domain '{text[:300]}' is no domain: {error}") from None
    if domain_names.is_public_suffix(name):
        raise bad_format(f"dkim.signing_domain '{name}' is nobody's domain")
    return name


def _bad_key(error: ValueError) -> ApiError:
    return bad_format(f"dkim: {error}")
