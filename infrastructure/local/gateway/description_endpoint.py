"""Serve the OpenAPI document of ``/local``, which is made at the first request for it."""

from __future__ import annotations

from infrastructure.local.gateway.local_api import LocalReply, LocalRequest, LocalRoute

PATH = "/local/openapi.json"


def routes() -> list[LocalRoute]:
    """Return the route of the document."""
    return [LocalRoute("GET", PATH, serve)]


def serve(request: LocalRequest) -> LocalReply:
    """Return this document."""
    # Imported here, because the gateway should not start later for it
    from infrastructure.local.gateway.local_openapi import page

    return LocalReply(page().encode())
