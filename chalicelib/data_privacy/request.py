"""Read the bodies of ``/data-privacy`` requests; raises 400."""

from __future__ import annotations

from typing import Any, Final

from chalicelib.core.addresses import is_address, spelling
from chalicelib.core.errors import ApiErrors, bad_request

MOST_RECIPIENTS: Final = 1000


def read_recipients(body: Any) -> list[str]:
    """Return the addresses that a request is about, each in one spelling; raises 400."""
    recipients = body.get("recipients") if isinstance(body, dict) else None
    if not isinstance(recipients, list) or not recipients:
        raise bad_request("recipients must be an array of email addresses")
    if len(recipients) > MOST_RECIPIENTS:
        raise bad_request(f"Exceeded maximum number of recipients ({MOST_RECIPIENTS})")
    bad = [each for each in recipients if not isinstance(each, str) or not is_address(each)]
    if bad:
        raise ApiErrors(400, [{"message": "invalid email address", "recipient": e} for e in bad])
    return list(dict.fromkeys(map(spelling, recipients)))
