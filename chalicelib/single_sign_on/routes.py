"""Serve ``/sign-in/providers``: sign-in with OpenID Connect providers.

A sign-in ends at the console of ``PUBLIC_URL``, and nowhere else: no parameter names a page.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from chalicelib.core.errors import Unauthorized
from chalicelib.core.http import PUBLIC, Reply, Request, Routes, ok, redirect
from chalicelib.core.settings import settings
from chalicelib.single_sign_on import flow, service
from chalicelib.single_sign_on.model import REFUSED, SignInFailed
from chalicelib.users.sign_in import begin_session

routes = Routes(__name__)
_log = logging.getLogger(__name__)

#: A browser must not keep what belongs to one sign-in
_NO_STORE = {"Cache-Control": "no-store"}


@routes.get("/api/v1/sign-in/providers", grant=PUBLIC)
def list_providers(request: Request) -> Reply:
    """Return the providers that users may sign in with."""
    return ok([{"id": each.id, "name": each.name} for each in flow.providers()])


@routes.get("/api/v1/sign-in/providers/{provider_id}", grant=PUBLIC, waits=True)
def go_to_provider(request: Request, provider_id: str) -> Reply:
    """Send the browser to a provider to sign in there."""
    provider = flow.provider_named(provider_id)
    try:
        departure = flow.begin(provider)
    except SignInFailed as failure:
        return _failed(failure)
    return replace(redirect(departure.url, headers=_NO_STORE), cookies=[departure.cookie])


@routes.get("/api/v1/sign-in/providers/{provider_id}/callback", grant=PUBLIC, waits=True)
def come_from_provider(request: Request, provider_id: str) -> Reply:
    """Sign in the user whom a provider sends back, and show the console."""
    provider = flow.provider_named(provider_id)
    try:
        claims = flow.finish(provider, request.cookie(flow.cookie_name()), request.query)
        user = service.user_of(provider, claims, request)
        shows = service.shows_second_factor(provider, claims)
        reply = begin_session(request, user, method=provider.id, second_factor=shows)
    except SignInFailed as failure:
        return _failed(failure)
    except Unauthorized:  # the user was disabled or removed meanwhile
        return _failed(SignInFailed(REFUSED, f"{provider.id}: the user may not sign in"))
    # Also a session that must set up a second factor first begins at the console
    return replace(_to_console(), cookies=[*reply.cookies, flow.clear_cookie()])


def _failed(failure: SignInFailed) -> Reply:
    _log.warning("a sign-in failed (%s): %s", failure.code, failure)
    return replace(_to_console(f"#sign-in-failed={failure.code}"), cookies=[flow.clear_cookie()])


def _to_console(fragment: str = "") -> Reply:
    return redirect(f"{settings().public_url}/console/{fragment}", headers=_NO_STORE)
