"""Serve ``/delivery-queue``, which is beyond the specification."""

from __future__ import annotations

from chalicelib.core.errors import Forbidden
from chalicelib.core.http import Reply, Request, Routes, ok
from chalicelib.delivery.shaping import queue_page

routes = Routes(__name__)


@routes.get("/api/v1/delivery-queue", grant="metrics/view")
def show_delivery_queue(request: Request) -> Reply:
    """Return how much mail of the account waits for the limits of which mailbox provider."""
    if request.caller.confined_to is not None:
        raise Forbidden("the queue is that of a whole account")
    return ok(queue_page.entries(str(request.caller.account_id)))
