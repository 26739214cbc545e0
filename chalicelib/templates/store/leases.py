"""Keep templates from being deleted while transmissions or A/B tests have leases on them (spec 3).

Access patterns of ``config``:

- the lease of one transmission → ``template#<account>#<template id>`` /
  ``use#<owner>#<transmission id>``
- the lease of an A/B test → ``template#<account>#<template id>`` /
  ``use#<owner>#ab_test/<test id>``
- the leases of a template → ``template#<account>#<template id>`` / ``use#<owner>#*``

A lease is written before the template's record is read, and a deletion announces itself in the
record before it looks for leases. So the later one of the two sees the other: either the deletion
is refused, or the transmission waits for the deletion and finds no template. A lease is released
when its transmission has started; otherwise it ends at its ``until``, so that a crash does not
block deletions for ever. For the same reason an announcement counts for a few seconds only.

What has started has its content. Still its template is not deleted while messages are being
generated: the deletion asks the function that ``app.py`` sets (:func:`set_use`) whether a
transmission uses the template, without a record of each use.

A scheduled A/B test acquires its lease in the transaction that schedules it, which fails while a
deletion is announced, and releases it in the one that ends it. So a crash leaves no lease behind,
and the lease has no end of its own.

``core.leases`` writes to the record with each lease, which is simpler; but a template may be leased
by hundreds of transmissions a second, whose writes would wait for each other.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import NotRequired

from chalicelib.core import audit, clock, dynamo
from chalicelib.core.dynamo import ConditionFailed, Keyed, Table, Write
from chalicelib.core.errors import ApiError, resource_conflict
from chalicelib.core.owner_keys import owner_digits
from chalicelib.core.scope import Scope
from chalicelib.templates.model import Template, no_template, shown_fields
from chalicelib.templates.store import bodies, records
from chalicelib.templates.store.records import TemplateItem

LAST_USE_SECONDS = 60.0
"""Seconds after which the time of a template's last use is written again."""

_NO_END = 1e11  # seconds: a lease that is released, but does not end
_ANNOUNCED_SECONDS = 5.0
_POLL_SECONDS = 0.02
_OF_TEST = "ab_test/"
_GENERATION = "msg generation"


class TemplateLeaseItem(Keyed):
    """The lease of a transmission or an A/B test on a template."""

    #: When it ends at the latest, in seconds
    until: float
    #: The lease of an A/B test does not expire
    expires: NotRequired[int]


_config: Table[TemplateLeaseItem] = Table("config")
_heads: Table[TemplateItem] = Table("config")
_uses: list[Callable[[Template], bool]] = []


def set_use(uses_template: Callable[[Template], bool]) -> None:
    """Set the function that tells whether a transmission uses a template."""
    _uses[:] = [uses_template]


def acquire(template: Template, transmission_id: str, until: float) -> Template:
    """Acquire a transmission's lease on a template; return the template's present record.

    ``until`` (seconds) ends the lease at the latest; acquiring it again for the same transmission
    moves that time. Raises 422 with code 1603 if the template was deleted since it was read.
    """
    _config.put(_lease(template, transmission_id, until))
    present = _read_after_deletion(template)
    if present is None:
        release(template.account_id, template.subaccount_id, template.id, transmission_id)
        raise no_template(template.id)
    return present


def release(
    account_id: int, subaccount_id: int | None, template_id: str, transmission_id: str
) -> None:
    """Release the lease of a transmission, if there is one; repeating it does no harm.

    ``subaccount_id`` is that of the template, which is ``None`` when the primary account shares it.
    """
    pk = records.partition(account_id, template_id)
    _config.delete(pk, _lease_key(subaccount_id, transmission_id))


def acquisition(template: Template, test_id: str) -> list[Write]:
    """Return the actions that acquire the lease of an A/B test on a template.

    They fail if the template was deleted, or if its deletion is announced.
    """
    lease: TemplateLeaseItem = {
        "pk": records.partition(template.account_id, template.id),
        "sk": _test_lease_key(template.subaccount_id, test_id),
        "until": _NO_END,
    }
    withdrawal = dynamo.update(
        _heads,
        *records.head(template),
        "REMOVE #deletion, #deletion_until",
        values={"now": clock.now()},
        condition="attribute_exists(#pk) "
        "AND (attribute_not_exists(#deletion) OR #deletion_until <= :now)",
    )
    return [withdrawal, dynamo.put(_config, lease)]


def releasing(account_id: int, subaccount_id: int | None, template_id: str, test_id: str) -> Write:
    """Return the action that releases the lease of an A/B test, if there is one."""
    pk = records.partition(account_id, template_id)
    return dynamo.delete(_config, pk, _test_lease_key(subaccount_id, test_id))


def record_use(template: Template) -> None:
    """Write the time of the template's last use, unless it was written a short time ago.

    ``template`` is a record just read: while its ``last_use`` is recent this takes no request.
    """
    now = clock.now()
    if template.last_use is not None and now - template.last_use < LAST_USE_SECONDS:
        return
    try:
        _heads.update(
            *records.head(template),
            "SET #last_use = :now",
            values={"now": now, "before": now - LAST_USE_SECONDS},
            condition="attribute_exists(#pk) AND "
            "(attribute_not_exists(#last_use) OR #last_use <= :before)",
        )
    except ConditionFailed:
        return


def delete(owner: Scope, template_id: str) -> bool:
    """Delete a template with both versions; return ``False`` if the owner has none.

    Raises 409 with code 1602 while a transmission uses it, or an A/B test has a lease on it.
    """

    def attempt() -> bool:
        template = records.get(owner.account_id, owner.owner, template_id)
        if template is None:
            return False
        if any(uses_template(template) for uses_template in _uses):
            raise _in_use(_GENERATION)
        token = secrets.token_hex(8)
        _announce(template, token)
        if lease := _current_lease(template):
            _withdraw(template, token)
            raise _in_use(_user(lease))
        _remove(template, token)
        bodies.discard(template.body_refs)
        return True

    return dynamo.retry_conflicts(attempt)


def _read_after_deletion(template: Template) -> Template | None:
    """Return the record once no deletion is announced, ``None`` if it was deleted."""
    while True:
        item = _heads.get(*records.head(template))
        if item is None:
            return None
        if "deletion" not in item:
            return records.from_item(item)
        if item["deletion_until"] <= clock.now():
            _withdraw(template, item["deletion"])
        else:
            time.sleep(_POLL_SECONDS)


def _announce(template: Template, token: str) -> None:
    """Announce a deletion in the record; raises ``ConditionFailed`` if the record is deleted."""
    _heads.update(
        *records.head(template),
        "SET #deletion = :token, #deletion_until = :until",
        values={"token": token, "until": clock.now() + _ANNOUNCED_SECONDS},
        condition="attribute_exists(#pk)",
    )


def _withdraw(template: Template, token: str) -> None:
    try:
        _heads.update(
            *records.head(template),
            "REMOVE #deletion, #deletion_until",
            values={"token": token},
            condition="#deletion = :token",
        )
    except ConditionFailed:
        return


def _current_lease(template: Template) -> TemplateLeaseItem | None:
    leases = _config.query_all(
        "#pk = :pk AND begins_with(#sk, :leases)",
        {
            "pk": records.partition(template.account_id, template.id),
            "leases": _lease_key(template.subaccount_id, ""),
        },
        consistent=True,
        limit=25,
    )
    now = clock.now()
    return next((lease for lease in leases if lease["until"] > now), None)


def _user(lease: TemplateLeaseItem) -> str:
    _, is_test, test_id = lease["sk"].partition(_OF_TEST)
    return f"A/B test '{test_id}'" if is_test else _GENERATION


def _in_use(user: str) -> ApiError:
    return resource_conflict(f"Template is in use by {user}")


def _remove(template: Template, token: str) -> None:
    """Delete the record and its content; raises ``TransactionFailed`` if it has changed."""
    pk, sk = records.head(template)
    head = dynamo.delete(
        _heads,
        pk,
        sk,
        condition="#revision = :revision AND #deletion = :token",
        values={"revision": template.revision, "token": token},
    )
    line = audit.line(template.id, shown_fields(template), None)
    dynamo.transact([head, *bodies.removals(pk, template.body_refs), *line])


def _lease(template: Template, transmission_id: str, until: float) -> TemplateLeaseItem:
    return {
        "pk": records.partition(template.account_id, template.id),
        "sk": _lease_key(template.subaccount_id, transmission_id),
        "until": until,
        "expires": int(until) + 1,
    }


def _test_lease_key(subaccount_id: int | None, test_id: str) -> str:
    return _lease_key(subaccount_id, _OF_TEST + test_id)


def _lease_key(subaccount_id: int | None, transmission_id: str) -> str:
    return f"use#{owner_digits(subaccount_id)}#{transmission_id}"
