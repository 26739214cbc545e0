"""Show recipient lists: a summary, one with all its recipients, and the outcome of saving one.

A list with its recipients is put together part by part as the text of one JSON reply, so that only
the text grows with the list, and not the objects that it is made of.
"""

from __future__ import annotations

import json

from chalicelib.core.blobs import BlobMissing
from chalicelib.core.dynamo import retry_conflicts
from chalicelib.core.errors import invalid_params
from chalicelib.core.http import Reply, ok
from chalicelib.core.json_types import Json
from chalicelib.core.settings import settings
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.recipient_lists.recipients import request_form
from chalicelib.recipient_lists.service import Saving, unknown_list
from chalicelib.recipient_lists.store import lists


def list_view(recipient_list: RecipientList) -> Json:
    """Return a list without its recipients."""
    return {
        "id": recipient_list.id,
        "name": recipient_list.name,
        "description": recipient_list.description,
        "attributes": recipient_list.attributes,
        "total_accepted_recipients": recipient_list.count,
    }


def saving_reply(saving: Saving, most_errors: int) -> Reply:
    """Return the reply to a list that was saved, with ``most_errors`` errors at most."""
    refusals = saving.refusals
    results = {
        "id": saving.list.id,
        "name": saving.list.name,
        "total_accepted_recipients": saving.list.count,
        "total_rejected_recipients": refusals.count,
    }
    if not refusals.count:
        return ok(results)
    error = {
        "message": "recipient list saved, but with validation errors",
        "code": "5000",
        "description": f"{refusals.count} recipient(s) were not accepted",
    }
    return ok(results | {"rcpt_to_errors": refusals.first(most_errors)}, errors=[error])


def list_with_recipients(account_id: int, list_id: str) -> bytes:
    """Return the reply body; raises 404, or 400 for a list that is too large for one reply."""

    def attempt() -> bytes:
        recipient_list = lists.get(account_id, list_id)
        if recipient_list is None:
            raise unknown_list(list_id)
        return _text(recipient_list)

    return retry_conflicts(attempt, on=BlobMissing)  # a change replaces the recipients' objects


def _text(recipient_list: RecipientList) -> bytes:
    view = list_view(recipient_list) | {"recipients": []}
    body = bytearray(json.dumps({"results": view}).encode())
    end = body[-3:]
    del body[-3:]
    for part in lists.parts(recipient_list):
        for recipient in part:
            body += json.dumps(request_form(recipient), separators=(",", ":")).encode() + b","
        _check_size(body)
    body[-1:] = end  # instead of the last comma: a list always has recipients
    return bytes(body)


def _check_size(body: bytearray) -> None:
    # Replies pass Lambda in base64, and its limit is the same as for requests
    if len(body) * 4 // 3 > settings().max_body_bytes:
        raise invalid_params("show_recipients: the list is too large to be shown in one reply")
