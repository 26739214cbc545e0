"""``/transmissions`` (spec 4.1)."""

from __future__ import annotations

from chalicelib.core.fields import integer
from chalicelib.core.http import Reply, Request, Routes, ok
from chalicelib.transmissions.accept import Accepted, accept

routes = Routes(__name__)

_MOST_ERRORS = 1_000_000


@routes.post("/api/v1/transmissions", grant="transmissions/modify")
def create_transmission(request: Request) -> Reply:
    """Accept a transmission and say how many of its recipients were."""
    shown = integer(request.query, "num_rcpt_errors", _MOST_ERRORS, 0, _MOST_ERRORS)
    return _reply(accept(request.caller, request.json()), shown)


def _reply(accepted: Accepted, shown: int) -> Reply:
    recipients = accepted.recipients
    results = {
        "id": accepted.id,
        "total_accepted_recipients": len(recipients.accepted),
        "total_rejected_recipients": recipients.rejected,
    }
    if not recipients.errors:
        return ok(results)
    error = {
        "message": "transmission created, but with validation errors",
        "code": "2000",
        "description": f"{recipients.rejected} recipient(s) were not accepted",
    }
    return ok(results | {"rcpt_to_errors": recipients.errors[:shown]}, errors=[error])
