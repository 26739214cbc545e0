"""Keep the identities of Amazon SES as the sending domains are, where mail leaves by SES.

The schedule that checks DNS records does this, so no request of the API waits for SES or fails with
it (``schedule`` beside this module says when). A deleted domain leaves an entry, by which its
identity is deleted.

The identity signs with the domain's own DKIM key, whose DNS record also verifies it ("bring your
own DKIM"). Every step may be repeated: what SES has is compared with the domain each time.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace

from chalicelib.core import due
from chalicelib.core.due import Due
from chalicelib.core.settings import settings
from chalicelib.sending_domains import store
from chalicelib.sending_domains.model import (
    SES_FAILED,
    SES_PENDING,
    SES_VERIFIED,
    VALID,
    SendingDomain,
    SesStatus,
)
from chalicelib.sending_domains.ses_identities import api
from chalicelib.sending_domains.ses_identities.api import Identity, SesFault, SigningKey
from chalicelib.sending_domains.ses_identities.schedule import fingerprint, is_wanted

#: SES takes keys of these lengths
SHORTEST_BITS, LONGEST_BITS = 1024, 2048

_MOST_DELETIONS = 100  # in one call
#: Statuses of a key from which SES does not come back by itself
_GIVEN_UP = ("FAILED", "NOT_STARTED")

_log = logging.getLogger(__name__)


def checked(domain: SendingDomain, now: float) -> SendingDomain:
    """Return the domain with the state of its identity, which is made or changed if need be."""
    if not is_wanted():
        return domain
    before, key = domain.ses or SesStatus(SES_PENDING, since=now), fingerprint(domain.dkim)
    is_known = domain.ses is not None and before.key == key
    try:
        status, error = _reconciled(domain, is_known=is_known)
    except SesFault as fault:
        _log.warning("the SES identity of %s is not checked: %s", domain.domain, fault)
        return replace(domain, ses=replace(before, error=str(fault)))
    return replace(domain, ses=SesStatus(status, error, key, before.since if is_known else now))


def delete_due(now: float) -> dict[str, int]:
    """Delete the identities of deleted domains that this stage made.

    Returns the number of domains by result: ``deleted``, ``kept`` and ``failed``. Costs one request
    when nothing is due.
    """
    if not is_wanted():
        return {}
    entries = due.find(store.DELETED_IDENTITIES, int(now * 1000), limit=_MOST_DELETIONS)
    return dict(Counter(_delete(entry, now) for entry in entries))


def _delete(entry: Due, now: float) -> str:
    try:
        # Somebody may have registered the name again meanwhile
        identity = None if store.get(entry.key) else api.find(entry.key)
        if identity and identity.is_own:
            api.delete(entry.key)
        due.remove(entry)
    except Exception:
        _log.exception("the SES identity of %s is not deleted", entry.key)
        due.postpone(entry, int(now * 1000))
        return "failed"
    return "deleted" if identity and identity.is_own else "kept"


def _reconciled(domain: SendingDomain, *, is_known: bool) -> tuple[str, str]:
    """Make SES have the domain; return the status and what is wrong.

    ``is_known`` says that SES got the domain's present key before. Raises :class:`SesFault`.
    """
    name = domain.domain
    identity = api.find(name)
    if identity and not identity.is_own:
        return _status_of(identity)
    key, error = _signing_key(domain)
    if key is None:
        return SES_FAILED, error
    if identity is None:
        api.create(name, key)
        identity = api.find(name)
        if identity is None or not identity.is_own:
            return SES_PENDING, ""
    elif not is_known or identity.selector != key.selector or _is_to_try_again(domain, identity):
        api.replace_key(name, key)
        identity = replace(identity, is_verified=False, dkim="PENDING")
    if identity.forwards_bounces and settings().ses_configuration_set:
        api.stop_forwarding(name)
    return _status_of(identity)


def _is_to_try_again(domain: SendingDomain, identity: Identity) -> bool:
    """Tell whether SES has given up to look for a record that is there now."""
    return identity.dkim in _GIVEN_UP and domain.status.dkim_status == VALID


def _status_of(identity: Identity) -> tuple[str, str]:
    if identity.is_verified:
        return SES_VERIFIED, ""
    if identity.dkim == "FAILED":
        return SES_FAILED, "SES did not find the DNS record of the DKIM key"
    return SES_PENDING, ""


def _signing_key(domain: SendingDomain) -> tuple[SigningKey | None, str]:
    """Return the domain's key as SES takes it, or why it takes none."""
    key = domain.dkim
    if key is None:
        return None, "the domain has no DKIM key"
    if key.signing_domain != domain.domain:
        return None, f"its DKIM key signs for {key.signing_domain}"
    from chalicelib.dkim.key_pair import private_der
    from chalicelib.dkim.sealed_key import private_half

    bits, private = private_der(private_half(key))
    if not SHORTEST_BITS <= bits <= LONGEST_BITS:
        return None, f"SES takes no DKIM key of {bits} bits, but of 1024 to 2048"
    return SigningKey(key.selector, private), ""
