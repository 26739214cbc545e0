"""The further DKIM keys of a domain: added, changed, verified and deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from chalicelib.core import clock
from chalicelib.core.errors import (
    ApiError,
    Unavailable,
    bad_format,
    resource_conflict,
    resource_not_found,
)
from chalicelib.core.scope import Scope
from chalicelib.sending_domains.dkim_request import (
    DkimBody,
    changed_key,
    generated_key,
    imported_key,
)
from chalicelib.sending_domains.dns_checks import Outcome, check_dkim
from chalicelib.sending_domains.further_keys import store as further_keys
from chalicelib.sending_domains.further_keys.model import MOST_KEYS, FurtherKey, check_id, is_id
from chalicelib.sending_domains.lookup import owned
from chalicelib.sending_domains.model import UNVERIFIED, SendingDomain

_ATTEMPTS = 50
_T = TypeVar("_T")


class NewKey(DkimBody):
    """The body of ``POST /sending-domains/{domain}/dkim-keys``; a key is made if none is given."""

    id: str | None = None
    dkim_key_length: int | None = None


def add(scope: Scope, domain: str, body: NewKey) -> FurtherKey:
    """Add a key to a domain of the scope; raises 1300, 1400, 1600, and 409 for a taken name."""
    key_id = check_id(body.id)
    name = owned(scope, domain).domain
    key = (
        imported_key(body, name)
        if body.has_key
        else generated_key(body, name, body.dkim_key_length)
    )
    named = FurtherKey(key_id, key, clock.now())

    def attempt(found: SendingDomain) -> FurtherKey | None:
        others = further_keys.of_domain(name)
        if len(others) >= MOST_KEYS:
            raise bad_format(f"a sending domain has at most {MOST_KEYS} DKIM keys")
        _check_names(found, others, named)
        return named if further_keys.add(found, named) else None

    return _until_undisturbed(scope, domain, attempt)


def change(scope: Scope, domain: str, key_id: str, body: DkimBody) -> FurtherKey:
    """Replace the key pair, selector, signing domain or headers of a key.

    Its record is to be verified again, except when only the headers have changed.
    """

    def attempt(found: SendingDomain) -> FurtherKey | None:
        before = get(found, key_id)
        after = _changed(before, body, found.domain)
        others = [each for each in further_keys.of_domain(found.domain) if each.id != key_id]
        _check_names(found, others, after)
        return after if further_keys.put_in_place(found, before, after) else None

    return _until_undisturbed(scope, domain, attempt)


def delete(scope: Scope, domain: str, key_id: str) -> None:
    """Delete a key."""

    def attempt(found: SendingDomain) -> bool | None:
        return further_keys.remove(found, get(found, key_id)) or None

    _until_undisturbed(scope, domain, attempt)


def verify(domain: SendingDomain, key_id: str) -> tuple[FurtherKey, Outcome]:
    """Look for the key's record in the DNS; return the key with its new status."""
    named = get(domain, key_id)
    outcome = check_dkim(named.key)
    after = further_keys.set_status(domain.domain, named, outcome.status_after(named.status))
    if after is None:
        raise _not_found(domain, key_id)
    return after, outcome


def get(domain: SendingDomain, key_id: str) -> FurtherKey:
    """Return a key of the domain; raises 404."""
    found = further_keys.get(domain.domain, key_id) if is_id(key_id) else None
    if found is None:
        raise _not_found(domain, key_id)
    return found


def _changed(before: FurtherKey, body: DkimBody, domain: str) -> FurtherKey:
    key = changed_key(before.key, body, domain)
    same = (key.public, key.record_name) == (before.key.public, before.key.record_name)
    return replace(before, key=key, status=before.status if same else UNVERIFIED)


def _check_names(domain: SendingDomain, others: list[FurtherKey], named: FurtherKey) -> None:
    """Refuse an id or a selector that another key of the domain has."""
    if any(other.id == named.id for other in others):
        raise resource_conflict(f"'{domain.domain}' already has a DKIM key '{named.id}'")
    keys = [other.key for other in others] + ([domain.dkim] if domain.dkim else [])
    if any(key.selector.lower() == named.key.selector.lower() for key in keys):
        raise resource_conflict(f"'{domain.domain}' already has a key with this selector")


def _until_undisturbed(
    scope: Scope, domain: str, attempt: Callable[[SendingDomain], _T | None]
) -> _T:
    for _ in range(_ATTEMPTS):
        result = attempt(owned(scope, domain))
        if result is not None:
            return result
    raise Unavailable


def _not_found(domain: SendingDomain, key_id: str) -> ApiError:
    return resource_not_found(f"DKIM key '{key_id[:64]}' of '{domain.domain}' does not exist")
