"""What a transmission needs until it has started is kept from being changed: template and list.

A use is noted while the request is checked, given back if it is refused, and ended when the
transmission has started or was cancelled. A use that nobody ends runs out by itself.
"""

from __future__ import annotations

from chalicelib.core import clock
from chalicelib.core.errors import subresource_not_found
from chalicelib.recipient_lists import store as lists
from chalicelib.recipient_lists.model import LONGEST_ID, RecipientList, is_list_id
from chalicelib.templates.model import Template
from chalicelib.templates.store import leases as templates
from chalicelib.transmissions.model import Json, Transmission

#: How long after its start a transmission may still need what it uses
AFTER_START_SECONDS = 900.0
#: How fast messages are generated at least, where a transmission starts at once
GENERATED_PER_SECOND = 50


def use_list(sent: Transmission, list_id: str) -> RecipientList:
    """Return a stored list, kept as it is from ten minutes before the start.

    Raises 422 with code 1603 if there is none; subaccounts have none.
    """
    starts = (sent.start_ms or sent.created_ms) / 1000
    found = None
    if sent.subaccount_id is None and is_list_id(list_id):
        until = max(starts, clock.now()) + AFTER_START_SECONDS  # a start may come late
        found = lists.begin_use(sent.account_id, list_id, sent.id, starts=starts, until=until)
    if found is None:
        text = f"recipient list '{list_id[:LONGEST_ID]}' does not exist"
        raise subresource_not_found(text)
    return found


def use_template(sent: Transmission, template: Template, recipients: int) -> None:
    """Keep a template from being deleted until the transmission has been generated."""
    starts = (sent.start_ms or sent.created_ms) / 1000
    after = AFTER_START_SECONDS if sent.start_ms else recipients / GENERATED_PER_SECOND
    templates.begin_use(template, sent.id, starts + after)


def noted(template: Template | None, found: RecipientList | None) -> Json:
    """Return, for the record, what is in use."""
    used: Json = {}
    if template:
        used["template"] = [template.subaccount_id, template.id]
    if found:
        used["list"] = found.id
    return used


def release(sent: Transmission, used: Json) -> None:
    """End the uses of a transmission; repeating it does no harm."""
    if "template" in used:
        subaccount_id, template_id = used["template"]
        templates.end_use(sent.account_id, subaccount_id, template_id, sent.id)
    if "list" in used:
        lists.end_use(sent.account_id, used["list"], sent.id)
