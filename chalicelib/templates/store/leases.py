"""Which transmissions use a template, so that it is not deleted under them (spec 3).

Access patterns (table ``config``, in the partition of the template):

- the lease of one transmission → ``sk = use#<sub>#<transmission id>``
- leases of a template → ``sk`` begins with ``use#<sub>#``

A lease is written before the template's record is read, and a deletion announces itself in the
record before it looks for leases. So whichever comes second sees the other: the deletion is
refused, or the transmission waits the moment until it is done and finds no template. A lease ends
when its transmission is generated, or at its ``until``, so that a crash does not block for ever;
an announcement likewise counts for a few seconds only.

``core.uses`` marks the record itself with each use, which is simpler; but a template may be used by
hundreds of transmissions a second, whose marks would make them wait for each other.
"""

from __future__ import annotations

import secrets
import time

from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import ConditionFailed, Item, Table
from chalicelib.core.errors import ApiError, Unavailable, resource_conflict
from chalicelib.core.owner_keys import owner_digits
from chalicelib.core.scope import Scope
from chalicelib.templates.model import Template, no_template
from chalicelib.templates.store import bodies, records

USE_NOTED_EVERY = 60.0
"""Seconds within which a further use of a template is not written down again."""

_ANNOUNCED_SECONDS = 5.0
_POLL_SECONDS = 0.02
_ATTEMPTS = 20

_config = Table("config")


def begin_use(template: Template, transmission_id: str, until: float) -> Template:
    """Keep a template from being deleted while a transmission uses it; return its record anew.

    ``until`` (seconds) ends the lease at the latest; asking again for the same transmission moves
    it. Raises 422 with code 1603 if the template was deleted since it was read.
    """
    _config.put(_lease(template, transmission_id, until))
    standing = _once_undisputed(template)
    if standing is None:
        end_use(template.account_id, template.subaccount_id, template.id, transmission_id)
        raise no_template(template.id)
    return standing


def end_use(
    account_id: int, subaccount_id: int | None, template_id: str, transmission_id: str
) -> None:
    """End the lease of a transmission, if there is one; repeating it does no harm.

    ``subaccount_id`` is that of the template, which is ``None`` when the primary account shares it.
    """
    pk = records.partition(account_id, template_id)
    _config.delete(pk, _lease_key(subaccount_id, transmission_id))


def note_use(template: Template) -> None:
    """Write down that a message was generated from the template, if that was not done lately.

    ``template`` is a record just read: while its ``last_use`` is fresh this asks nothing.
    """
    now = clock.now()
    if template.last_use is not None and now - template.last_use < USE_NOTED_EVERY:
        return
    try:
        _config.update(
            *records.head(template),
            "SET #last_use = :now",
            values={"now": now, "before": now - USE_NOTED_EVERY},
            condition="attribute_exists(#pk) AND "
            "(attribute_not_exists(#last_use) OR #last_use <= :before)",
        )
    except ConditionFailed:
        return


def delete(owner: Scope, template_id: str) -> bool:
    """Delete a template with both versions; return ``False`` if the owner has none.

    Raises 409 with code 1602 while a transmission uses it.
    """
    for _ in range(_ATTEMPTS):
        template = records.get(owner.account_id, owner.owner, template_id)
        if template is None:
            return False
        token = secrets.token_hex(8)
        if not _announced(template, token):
            continue
        if _is_in_use(template):
            _withdraw(template, token)
            raise _in_use()
        if _removed(template, token):
            bodies.discard(template.content_refs)
            return True
    raise Unavailable


def _once_undisputed(template: Template) -> Template | None:
    """Return the record as it is once no deletion is under way, ``None`` if it was deleted."""
    while True:
        item = _config.get(*records.head(template))
        if item is None:
            return None
        if "deletion" not in item:
            return records.from_item(item)
        if item["deletion_until"] <= clock.now():
            _withdraw(template, item["deletion"])
        else:
            time.sleep(_POLL_SECONDS)


def _announced(template: Template, token: str) -> bool:
    """Say in the record that it may be about to be deleted; ``False`` if it is gone."""
    try:
        _config.update(
            *records.head(template),
            "SET #deletion = :token, #deletion_until = :until",
            values={"token": token, "until": clock.now() + _ANNOUNCED_SECONDS},
            condition="attribute_exists(#pk)",
        )
    except ConditionFailed:
        return False
    return True


def _withdraw(template: Template, token: str) -> None:
    try:
        _config.update(
            *records.head(template),
            "REMOVE #deletion, #deletion_until",
            values={"token": token},
            condition="#deletion = :token",
        )
    except ConditionFailed:
        return


def _is_in_use(template: Template) -> bool:
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
    return any(lease["until"] > now for lease in leases)


def _removed(template: Template, token: str) -> bool:
    """Remove the record and its content, unless either has changed since it was read."""
    pk, sk = records.head(template)
    head = dynamo.delete(
        _config,
        pk,
        sk,
        condition="#revision = :revision AND #deletion = :token",
        values={"revision": template.revision, "token": token},
    )
    return dynamo.transacted([head, *bodies.removals(pk, template.content_refs)])


def _lease(template: Template, transmission_id: str, until: float) -> Item:
    return {
        "pk": records.partition(template.account_id, template.id),
        "sk": _lease_key(template.subaccount_id, transmission_id),
        "until": until,
        "expires": int(until) + 1,
    }


def _lease_key(subaccount_id: int | None, transmission_id: str) -> str:
    return f"use#{owner_digits(subaccount_id)}#{transmission_id}"


def _in_use() -> ApiError:
    return resource_conflict("Template is in use by msg generation")
