"""``/ingest``: batches of events from outside, and the files of those that could not be taken."""

from __future__ import annotations

from chalicelib.core.http import PUBLIC, Reply, Request, Routes, ok, raw
from chalicelib.ingest import batches, failures

routes = Routes(__name__)


@routes.post("/api/v1/ingest/events", grant="events/ingest")
def ingest_events(request: Request) -> Reply:
    """Take a batch of events, to be worked off at once; return its id."""
    return ok({"id": batches.take(request.caller.scope, request.raw_body)})


@routes.get("/api/v1/ingest/failures/{token}", grant=PUBLIC)
def read_failures(request: Request, token: str) -> Reply:
    """Return the file of a batch's events that could not be taken."""
    return raw(failures.read(token), "application/x-ndjson")
