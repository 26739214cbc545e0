"""Show and change the records of the local DNS over HTTP, under ``/local/dns``.

- ``GET /local/dns`` lists what the local DNS answers, by name
- ``GET /local/dns/{name}`` shows what it answers about one name
- ``PUT /local/dns/{name}`` replaces what it answers about the name, by a body such as
  ``{"records": [{"type": "MX", "value": "10 mail.example.com"}]}``
- ``DELETE /local/dns/{name}`` deletes the records that were put there

``origin`` says where an answer comes from: ``user`` (by PUT) or ``service`` (its own ``.test``
domains). No key is needed: the endpoint exists only in the local runtime.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple
from urllib.parse import unquote

from chalicelib.core import strict_json
from chalicelib.core.errors import ApiError
from infrastructure.local.dns.answers import Answer, LocalAnswers, Source
from infrastructure.local.dns.record_syntax import BadRecord, read_name, read_records
from infrastructure.local.dns.zone import LocalZone
from infrastructure.local.gateway.application import Send
from infrastructure.local.gateway.replies import error_body, reply_json
from infrastructure.local.gateway.request_body import Receive, Scope, read_body

PREFIX = "/local/dns"
# The records of one name fit into one answer by TCP.
MAX_BODY_BYTES = 32 * 1024


class _Response(NamedTuple):
    status: int
    body: Any


class DnsEndpoint:
    """``/local/dns`` as an ASGI callable over the user's zone and the service's records."""

    def __init__(self, zone: LocalZone, service: Source) -> None:
        self._zone = zone
        self._answers = LocalAnswers(zone, service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        body = await read_body(scope, receive, MAX_BODY_BYTES)
        if body is None:
            return
        path = unquote(scope["raw_path"].decode("ascii")).rstrip("/")
        name = path.removeprefix(PREFIX).lstrip("/")
        if body.too_large:
            response = _refusal(413, f"the body has more than {MAX_BODY_BYTES} bytes")
        else:
            # The service's records are read from its tables, which blocks.
            response = await asyncio.to_thread(self._respond, scope["method"], name, body.content)
        await reply_json(send, *response)

    def _respond(self, method: str, name: str, content: bytes) -> _Response:
        if method in ("GET", "HEAD"):
            return self._get(name) if name else self._list()
        if not name or method not in ("PUT", "DELETE"):
            return _refusal(405, "Method Not Allowed")
        return self._put(name, content) if method == "PUT" else self._delete(name)

    def _list(self) -> _Response:
        return _Response(200, {"results": [_view(answer) for answer in self._answers.all()]})

    def _get(self, name: str) -> _Response:
        try:
            answer = self._answers.get(read_name(name))
        except BadRecord as error:
            return _refusal(400, str(error))
        if answer is None:
            return _refusal(404, f"{name} does not exist in the local DNS")
        return _Response(200, {"results": _view(answer)})

    def _put(self, name: str, content: bytes) -> _Response:
        try:
            answer = Answer(read_name(name), read_records(strict_json.loads(content)), True)
        except BadRecord as error:
            return _refusal(400, str(error))
        except ApiError as error:
            return _Response(error.status, {"errors": error.errors})
        self._zone.put(answer.name, answer.records)
        return _Response(200, {"results": _view(answer)})

    def _delete(self, name: str) -> _Response:
        try:
            if not self._zone.delete(read_name(name)):
                return _refusal(404, f"no records were put at {name}")
        except BadRecord as error:
            return _refusal(400, str(error))
        return _Response(200, {"results": {"name": read_name(name)}})


def _refusal(status: int, message: str) -> _Response:
    return _Response(status, error_body(message))


def _view(answer: Answer) -> dict[str, Any]:
    return {
        "name": answer.name,
        "origin": "user" if answer.by_user else "service",
        "records": [{"type": rtype, "value": value} for rtype, value in answer.records],
    }
