"""Keep a transmission's stored template and list from being changed until it has started.

A lease is acquired while the request is checked. It is released if the request is refused, and when
the transmission has started or was cancelled. A lease that nobody releases expires.

What has started no longer needs them. Still they are in use while the transmission is being
generated (spec 3): the lease on the list then follows the transmission's state, and a deletion of a
template looks for the transmissions of it (``transmissions.references``).
"""

from __future__ import annotations

from chalicelib.core import clock
from chalicelib.core.errors import ApiError, subresource_not_found
from chalicelib.core.resource_ids import LONGEST_ID
from chalicelib.recipient_lists.model import RecipientList, is_list_id
from chalicelib.recipient_lists.store import lists
from chalicelib.templates.model import Template
from chalicelib.templates.store import leases as template_leases
from chalicelib.transmissions.model import Leases, Transmission
from chalicelib.transmissions.recipients import Recipients

#  How long after its start a transmission may still need its template and list
AFTER_START_SECONDS = 900.0


def lease_list(transmission: Transmission, list_id: str) -> RecipientList:
    """Return a stored list, which does not change from ten minutes before the start on.

    Raises 422 with code 1603 if there is none; subaccounts have none.
    """
    starts = transmission.starts_ms / 1000
    recipient_list = None
    if transmission.subaccount_id is None and is_list_id(list_id):
        until = max(starts, clock.now()) + AFTER_START_SECONDS  # the start may be late
        recipient_list = lists.acquire_lease(
            transmission.account_id, list_id, transmission.id, starts=starts, until=until
        )
    if recipient_list is None:
        raise list_not_found(list_id)
    return recipient_list


def list_not_found(list_id: str) -> ApiError:
    """Return 422 with code 1603."""
    return subresource_not_found(f"recipient list '{list_id[:LONGEST_ID]}' does not exist")


def lease_template(transmission: Transmission, template: Template) -> None:
    """Keep a template from being deleted until a scheduled transmission has started."""
    until = transmission.start_ms / 1000 + AFTER_START_SECONDS
    template_leases.acquire(template, transmission.id, until)


def leases_on(template: Template | None, recipients: Recipients | None) -> Leases:
    """Return the names of the leased template and list, for ``Transmission.leases``."""
    leases: Leases = {}
    if template:
        leases["template"] = [template.subaccount_id, template.id]
    if recipients and recipients.list_ref:
        leases["list"] = recipients.list_ref["id"]
    return leases


def without_list(leases: Leases) -> Leases:
    """Return the lease on the template alone."""
    return {"template": leases["template"]} if "template" in leases else {}


def release_started(transmission: Transmission, leases: Leases) -> None:
    """Release the leases of a transmission whose chunks are queued; repeating it does no harm."""
    release(transmission, without_list(leases))
    if "list" in leases:
        lists.release_when_generated(transmission.account_id, leases["list"], transmission.id)


def release(transmission: Transmission, leases: Leases) -> None:
    """Release the leases of a transmission; repeating it does no harm."""
    if "template" in leases:
        subaccount_id, template_id = leases["template"]
        template_leases.release(
            transmission.account_id, subaccount_id, template_id, transmission.id
        )
    if "list" in leases:
        lists.release_lease(transmission.account_id, leases["list"], transmission.id)
