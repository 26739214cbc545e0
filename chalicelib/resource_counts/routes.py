"""Serve ``/counts``, which is beyond the specification."""

from __future__ import annotations

from chalicelib.core.http import AUTHENTICATED, Reply, Request, Routes, ok
from chalicelib.resource_counts.service import counts

routes = Routes(__name__)


@routes.get("/api/v1/counts", grant=AUTHENTICATED)
def show_counts(request: Request) -> Reply:
    """Return how many resources of each kind there are that the key may list."""
    caller = request.caller
    return ok(
        {
            kind: {"count": count.number, "more": count.more}
            for kind, count in counts(caller.scope, caller.grants).items()
        }
    )
