"""A list with all its recipients, as the JSON of one reply.

The text is put together part by part: only it grows with the list, not the objects it is made of.
"""

from __future__ import annotations

import json

from chalicelib.core.blobs import BlobMissing
from chalicelib.core.errors import Unavailable, invalid_params
from chalicelib.core.settings import settings
from chalicelib.recipient_lists import store
from chalicelib.recipient_lists.model import RecipientList
from chalicelib.recipient_lists.recipients import as_given
from chalicelib.recipient_lists.service import unknown

_ATTEMPTS = 5


def whole_list(account_id: int, list_id: str) -> bytes:
    """Return the reply body; raises 404, or 400 for a list that no one reply could hold."""
    for _ in range(_ATTEMPTS):
        found = store.get(account_id, list_id)
        if found is None:
            raise unknown(list_id)
        try:
            return _text(found)
        except BlobMissing:
            continue  # the recipients were replaced meanwhile
    raise Unavailable


def _text(found: RecipientList) -> bytes:
    body = bytearray(json.dumps({"results": found.summary() | {"recipients": []}}).encode())
    end = body[-3:]
    del body[-3:]
    for part in store.parts(found):
        for recipient in part:
            body += json.dumps(as_given(recipient), separators=(",", ":")).encode() + b","
        _check_size(body)
    body[-1:] = end  # instead of the last comma: a list is never without recipients
    return bytes(body)


def _check_size(body: bytearray) -> None:
    # Replies pass Lambda in base64, and it takes no more of them than of requests.
    if len(body) * 4 // 3 > settings().max_body_bytes:
        raise invalid_params("show_recipients: the list is too large to be shown in one reply")
