"""Add, change, verify and delete the further DKIM keys of a domain (spec 4.4).

A change that another request overtakes is tried again with the domain as it then is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain, count
from typing import TypeVar

from chalicelib.core import clock, references
from chalicelib.core.dynamo import retry_conflicts
from chalicelib.core.errors import (
    ApiError,
    bad_format,
    resource_conflict,
    resource_not_found,
)
from chalicelib.core.scope import Scope
from chalicelib.dkim.model import DkimKey
from chalicelib.sending_domains.dkim_request import (
    DkimBody,
    changed_key,
    generated_key,
    imported_key,
)
from chalicelib.sending_domains.dns_checks import Outcome, check_dkim
from chalicelib.sending_domains.further_keys import store
from chalicelib.sending_domains.further_keys.model import MOST_KEYS, FurtherKey, is_id
from chalicelib.sending_domains.further_keys.request import NewKey
from chalicelib.sending_domains.lookup import get_owned
from chalicelib.sending_domains.model import UNVERIFIED, SendingDomain

Result = TypeVar("Result")


def list_all(scope: Scope, domain: str) -> list[FurtherKey]:
    """Return the keys of a domain by id; raises 404."""
    return store.of_domain(get_owned(scope, domain).domain)


def get(scope: Scope, domain: str, key_id: str) -> FurtherKey:
    """Return a key of a domain; raises 404."""
    return _find(get_owned(scope, domain), key_id)


def add(scope: Scope, domain: str, body: NewKey) -> FurtherKey:
    """Add a key to a domain of the scope; raises 1300, 1400, 1600, and 409 for a taken name.

    A key without a selector in the request gets one that no other key of the domain has.
    """
    key_id = body.checked_id()
    name = get_owned(scope, domain).domain
    new = FurtherKey(key_id, _new_key(body, name), clock.now())

    def attempt(owner: SendingDomain) -> FurtherKey:
        others = store.of_domain(name)
        if len(others) >= MOST_KEYS:
            raise bad_format(f"a sending domain has at most {MOST_KEYS} DKIM keys")
        further = _with_free_selector(new, owner, others) if body.selector is None else new
        _check_names(owner, others, further)
        store.add(owner, further)
        return further

    return _change_keys(scope, domain, attempt)


def change(scope: Scope, domain: str, key_id: str, body: DkimBody) -> FurtherKey:
    """Replace the key pair, selector, signing domain or headers of a key.

    The key has to be verified again, unless only the headers have changed. Raises 409 with code
    1602 if scheduled mail needs the verified key.
    """

    def attempt(owner: SendingDomain) -> FurtherKey:
        before = _find(owner, key_id)
        after = _changed(before, body, owner.domain)
        if after.key.selector != before.key.selector or after.status != before.status:
            check_unused_key(owner, before.key)
        others = [other for other in store.of_domain(owner.domain) if other.id != key_id]
        _check_names(owner, others, after)
        store.replace_key(owner, before, after)
        return after

    return _change_keys(scope, domain, attempt)


def delete(scope: Scope, domain: str, key_id: str) -> None:
    """Delete a key; raises 404, and 409 with code 1602 if scheduled mail needs it."""

    def attempt(owner: SendingDomain) -> None:
        further = _find(owner, key_id)
        check_unused_key(owner, further.key)
        store.remove(owner, further)

    _change_keys(scope, domain, attempt)


def verify(scope: Scope, domain: str, key_id: str) -> tuple[FurtherKey, Outcome]:
    """Look for the key's record in the DNS; return the key with its new status."""
    owner = get_owned(scope, domain)
    further = _find(owner, key_id)
    outcome = check_dkim(further.key)
    after = store.set_status(owner, further, outcome.status_after(further.status))
    if after is None:
        raise _not_found(owner, key_id)
    return after, outcome


def _new_key(body: NewKey, domain: str) -> DkimKey:
    if body.has_key:
        return imported_key(body, domain)
    return generated_key(body, domain, body.dkim_key_length)


def _find(domain: SendingDomain, key_id: str) -> FurtherKey:
    further = store.get(domain.domain, key_id) if is_id(key_id) else None
    if further is None:
        raise _not_found(domain, key_id)
    return further


def _changed(before: FurtherKey, body: DkimBody, domain: str) -> FurtherKey:
    key = changed_key(before.key, body, domain)
    same = (key.public, key.record_name) == (before.key.public, before.key.record_name)
    return replace(before, key=key, status=before.status if same else UNVERIFIED)


def _check_names(domain: SendingDomain, others: list[FurtherKey], further: FurtherKey) -> None:
    """Refuse an id or a selector that another key of the domain has."""
    if any(other.id == further.id for other in others):
        raise resource_conflict(f"'{domain.domain}' already has a DKIM key '{further.id}'")
    if further.key.selector.lower() in _selectors(domain, others):
        raise _taken_selector(domain)


def check_unused_key(domain: SendingDomain, key: DkimKey) -> None:
    """Raise 409 with code 1602 if something names a key of the domain."""
    name = f"{domain.domain}/{key.selector}"
    references.check_unused(references.DKIM_KEY, domain.account_id, name)


def check_selector(domain: SendingDomain) -> None:
    """Raise 409 if a further key has the selector of the domain's own key."""
    if domain.dkim and domain.dkim.selector.lower() in _further(store.of_domain(domain.domain)):
        raise _taken_selector(domain)


def _with_free_selector(
    further: FurtherKey, domain: SendingDomain, others: list[FurtherKey]
) -> FurtherKey:
    first = further.key.selector
    selectors = chain([first], (f"{first}-{number}" for number in count(2)))
    used = _selectors(domain, others)
    free = next(each for each in selectors if each.lower() not in used)
    return replace(further, key=replace(further.key, selector=free))


def _selectors(domain: SendingDomain, others: list[FurtherKey]) -> set[str]:
    """Return the selectors of the domain's own key and of other keys, in lower case."""
    return _further(others) | ({domain.dkim.selector.lower()} if domain.dkim else set())


def _further(keys: list[FurtherKey]) -> set[str]:
    return {each.key.selector.lower() for each in keys}


def _taken_selector(domain: SendingDomain) -> ApiError:
    return resource_conflict(f"'{domain.domain}' already has a key with this selector")


def _change_keys(scope: Scope, domain: str, attempt: Callable[[SendingDomain], Result]) -> Result:
    """Call ``attempt`` with the present domain, again while other requests come first."""
    return retry_conflicts(lambda: attempt(get_owned(scope, domain)))


def _not_found(domain: SendingDomain, key_id: str) -> ApiError:
    return resource_not_found(f"DKIM key '{key_id[:64]}' of '{domain.domain}' does not exist")
