"""Check a webhook's target with a test POST, which it must answer with 200 (spec 3).

With OAuth 2.0 a check can be six exchanges, each with a time limit of its own. The caller waits
meanwhile, and API Gateway ends a request after 29 seconds, so all checks of one request run within
:func:`time_limit`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Final
from uuid import uuid4

from chalicelib.core import web_fetch
from chalicelib.core.errors import ApiErrors
from chalicelib.core.spool import Body
from chalicelib.webhooks import oauth, posting
from chalicelib.webhooks.credentials import open_sealed
from chalicelib.webhooks.model import OAUTH2, Endpoint
from chalicelib.webhooks.posting import PostResult
from chalicelib.webhooks.token_request import TokenRefused
from chalicelib.webhooks.view import response_view

#: Seconds that all checks of one request may take together
LONGEST: Final = 20.0

_FAILED = "POST to webhook {} URL failed"


def time_limit() -> AbstractContextManager[None]:
    """Return the block in which a request contacts token servers and targets."""
    return web_fetch.within(LONGEST)


def check_target(webhook: Endpoint, body: Body) -> dict[str, Any]:
    """Post a test batch; return the response's ``status``, ``headers`` and ``body``.

    Raises 400 with them if the target refuses the batch, or with the reason if it does not answer.
    """
    result = posting.post(webhook, uuid4().hex, body)
    if result.is_accepted:
        return response_view(result)
    where = "tokens" if result.failure_code == posting.NO_TOKEN else "target"
    raise _check_failed(where, result)


def check_token(webhook: Endpoint) -> None:
    """Fetch a token if the webhook uses tokens; raises 400 when the server gives none."""
    if webhook.auth_type != OAUTH2:
        return
    try:
        oauth.fetch(webhook.id, open_sealed(webhook.sealed, webhook.id))
    except TokenRefused as error:
        raise _check_failed("tokens", _token_result(error)) from None


def _token_result(error: TokenRefused) -> PostResult:
    response = error.response
    if response is None:
        return PostResult(None, failure_code=posting.NO_TOKEN, reason=str(error))
    return PostResult(response.status, response.headers, response.body, reason=str(error))


def _check_failed(where: str, result: PostResult) -> ApiErrors:
    error: dict[str, Any] = {"message": _FAILED.format(where), "code": 400}
    if result.reason:
        error["description"] = result.reason
    return ApiErrors(400, [error | {"response": response_view(result)}])
