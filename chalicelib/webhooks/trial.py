"""The test POST: no webhook is pointed at a target that does not answer it with 200 (spec 3)."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from chalicelib.core.errors import ApiErrors
from chalicelib.webhooks import oauth, payload, posting
from chalicelib.webhooks.credentials import open_sealed
from chalicelib.webhooks.model import OAUTH2, Webhook
from chalicelib.webhooks.posting import Answer
from chalicelib.webhooks.token_request import TokenRefused

_FAILED = "POST to webhook {} URL failed"


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
    """Return what a caller wants to be posted: a batch, its only element, or either by name."""
    content = given["message"] if isinstance(given, dict) and "message" in given else given
    if content is None:
        return payload.ping()
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
