"""Serve ``/ingest``: batches of events, and the files of events that could not be ingested."""

from __future__ import annotations

from chalicelib.core.http import PUBLIC, Reply, Request, Routes, ok, raw
from chalicelib.ingest import batches, failures

routes = Routes(__name__)


@routes.post("/api/v1/ingest/events", grant="events/ingest")
def ingest_events(request: Request) -> Reply:
    """Accept a batch of events, which is processed at once; return its id."""
    return ok({"id": batches.accept(request.caller.scope, request.raw_body)})


@routes.get("/api/v1/ingest/failures/{token}", grant=PUBLIC)
def read_failures(request: Request, token: str) -> Reply:
    """Return the file of a batch's events that could not be ingested."""
    return raw(failures.read(token), "application/x-ndjson")
