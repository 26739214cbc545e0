"""The test POST: no webhook is pointed at a target that does not answer it with 200 (spec 3).

With OAuth 2.0 a test can be six exchanges, each with a time limit of its own. The caller waits
meanwhile, and API Gateway with it for 29 seconds: what one request asks of others goes within
:func:`in_time`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Final
from uuid import uuid4

from chalicelib.core import web_fetch
from chalicelib.core.errors import ApiErrors, bad_request
from chalicelib.webhooks import oauth, payload, posting
from chalicelib.webhooks.credentials import open_sealed
from chalicelib.webhooks.model import OAUTH2, Webhook
from chalicelib.webhooks.posting import Answer
from chalicelib.webhooks.token_request import TokenRefused

#: Seconds that all tests of one request may take together
LONGEST: Final = 20.0

_FAILED = "POST to webhook {} URL failed"


def in_time() -> AbstractContextManager[None]:
    """Return the block within which a request asks tokens and targets."""
    return web_fetch.within(LONGEST)


def try_target(webhook: Webhook, body: bytes) -> dict[str, Any]:
    """Post a test batch; return the response's ``status``, ``headers`` and ``body``.

    Raises 400 with them, or with the reason why there is no response.
    """
    answer = posting.post(webhook, uuid4().hex, body)
    if answer.is_taken:
        return response(answer)
    what = "tokens" if answer.failure_code == posting.NO_TOKEN else "target"
    raise _failed(what, answer)


def try_token(webhook: Webhook) -> None:
    """Fetch a token where the webhook takes one; raises 400 when none is given."""
    if webhook.auth_type != OAUTH2:
        return
    try:
        oauth.fetch(webhook.id, open_sealed(webhook.sealed, webhook.id))
    except TokenRefused as error:
        found = error.response
        answer = (
            Answer(found.status, found.headers, found.body, reason=str(error))
            if found
            else Answer(None, failure_code=posting.NO_TOKEN, reason=str(error))
        )
        raise _failed("tokens", answer) from None


def message(given: Any) -> bytes:
    """Return what a caller wants to be posted: a batch, its only element, or either by name.

    Nothing, or an object with nothing in it, is the batch of the test. Raises 400 for what is no
    batch.
    """
    content = given["message"] if isinstance(given, dict) and "message" in given else given
    if content is None or content == {}:
        return payload.ping()
    if not isinstance(content, list | dict):
        raise bad_request("message must be an array of events", param="message")
    return payload.message(content if isinstance(content, list) else [content])


def response(answer: Answer) -> dict[str, Any]:
    """Return a target's response as callers see it."""
    return {
        "status": answer.status,
        "headers": dict(answer.headers),
        "body": answer.body.decode("utf-8", "replace"),
    }


def _failed(what: str, answer: Answer) -> ApiErrors:
    error: dict[str, Any] = {"message": _FAILED.format(what), "code": 400}
    if answer.reason:
        error["description"] = answer.reason
    return ApiErrors(400, [error | {"response": response(answer)}])
