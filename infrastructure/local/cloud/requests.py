"""Serve the requests to the local cloud, each as one transaction of the store.

Requests to DynamoDB and SQS go from here to their handlers: to those that answer straight from the
store, and what these leave goes to MiniStack's. All others go to MiniStack's application. An answer
is sent when what the request changed is stored; if it cannot be, the answer is 503, after which
clients try again, and nothing of it is stored.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from ministack.core.responses import set_request_account_id, set_request_region
from ministack.services import dynamodb, sqs

from chalicelib.core.json_types import Json
from infrastructure.local.cloud import json_text
from infrastructure.local.cloud.asgi import (
    AsgiApplication,
    Receive,
    Scope,
    Send,
    answer,
    header,
    read_body,
    replaying,
)
from infrastructure.local.cloud.gatekeeper import CALLER
from infrastructure.local.cloud.item_requests import ItemRequests, Refused
from infrastructure.local.cloud.queue_requests import QueueRequests
from infrastructure.local.cloud.state import State
from infrastructure.local.cloud.steady_time import SteadyTime
from infrastructure.local.cloud.store import CannotStore, Synchronization
from infrastructure.local.cloud.table_keys import Unusual

_JSON = {"content-type": "application/x-amz-json-1.0"}
_READS = ("Get", "List", "Describe", "Query", "Scan", "BatchGet", "TransactGet")
# Actions that change items and messages only, or of KMS nothing
_NO_DOCUMENTS = {
    *("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"),
    *("Encrypt", "Decrypt", "GenerateDataKey", "Sign", "Verify"),
}
# What MiniStack raises for a member of another type than it expects
_WRONG_TYPES = (TypeError, ValueError, AttributeError, KeyError)
# Paths that run a function, which makes requests of its own when it changes something
_CALLS = ("/invocations", "/_aws/execute-api/")


class Requests:
    """An ASGI application before MiniStack's ``application``.

    With a ``synchronization``, an answer waits until its change is on the disk.
    """

    def __init__(
        self,
        application: AsgiApplication,
        state: State,
        clock: SteadyTime,
        synchronization: Synchronization | None = None,
    ) -> None:
        self._application = application
        self._state = state
        self._store = state.store
        self._synchronization = synchronization
        self._items = ItemRequests(state.tables)
        self._queues = QueueRequests(state.queues, clock)
        self._handlers: Mapping[str, Mapping[str, Callable[[Json], str]]] = {
            "DynamoDB_20120810": self._items.handlers,
            "AmazonSQS": self._queues.handlers,
        }

    def install(self) -> None:
        """Let MiniStack's own tasks use the store."""
        self._queues.install()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        protocol, _, action = header(scope, b"x-amz-target").partition(".")
        try:
            if CALLER in scope and protocol in self._handlers:
                await self._serve_action(protocol, action, scope, receive, send)
            else:
                await self._serve_other(action, scope, receive, send)
        except sqlite3.Error as error:
            self._store.roll_back()
            self._store.tell(error)
            await _refuse(send, bool(protocol), str(error))

    async def _serve_action(
        self, protocol: str, action: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        body = await read_body(scope, receive)
        if body is None:
            return
        caller = scope[CALLER]
        set_request_account_id(caller.access_key.decode())
        set_request_region(caller.region.decode())
        status, content = 200, b""
        headers: Mapping[str, str] = _JSON
        try:
            try:
                try:
                    text = await self._answer(protocol, action, json_text.loads(body), receive)
                    if text is None:
                        return
                    content = text.encode()
                except (Unusual, ValueError):
                    answered = await self._ask_ministack(protocol, action, scope, body)
                    status, headers, content = answered
            except Refused as refusal:
                status, content = 400, refusal.body
            # Also what was refused or done before tells of commits, perhaps of a lost answer
            if self._synchronization is not None and not action.startswith(_READS):
                await self._synchronization.wait()
        except (CannotStore, OSError) as error:
            self._store.roll_back()
            await _refuse(send, True, str(error))
            return
        await answer(send, status, content, headers)

    async def _answer(
        self, protocol: str, action: str, request: Any, receive: Receive
    ) -> str | None:
        """Return what is answered from the store, or ``None`` if nobody waits for it any more."""
        if not isinstance(request, dict):
            raise Unusual
        if action == "ReceiveMessage":
            return await self._queues.receive(request, lambda: _hang_up(receive))
        handler = self._handlers[protocol].get(action)
        if handler is None:
            raise Unusual
        with self._store.transaction():
            return handler(request)

    async def _ask_ministack(
        self, protocol: str, action: str, scope: Scope, body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Return the answer of MiniStack's handler, with its changes stored."""
        self._state.commit()
        service = dynamodb if protocol.startswith("DynamoDB") else sqs
        may_declare = not action.startswith(_READS) and action not in _NO_DOCUMENTS
        if may_declare:
            self._store.check_room()
        token: Any = None
        if action == "TransactWriteItems":
            request = _transaction(body)
            token = request.pop("ClientRequestToken", None)
            if token is not None and self._items.is_repetition(token, request["TransactItems"]):
                return 200, _JSON, b"{}"
            body = json.dumps(request).encode()
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        try:
            status, answered, content = await service.handle_request("POST", "/", headers, body, {})
        except Exception as error:
            self._store.roll_back()
            if isinstance(error, _WRONG_TYPES):
                # MiniStack does not check the types of all members
                text = f"a member has a wrong type: {error!r}"
                raise Refused("SerializationException", text) from error
            raise
        if status != 200:
            self._store.roll_back()
        elif token is not None:
            self._items.note_transaction(token, request["TransactItems"])
        if may_declare:
            self._state.may_have_changed("dynamodb" if service is dynamodb else "sqs")
        self._state.commit()
        return status, answered, content if isinstance(content, bytes) else content.encode()

    async def _serve_other(self, action: str, scope: Scope, receive: Receive, send: Send) -> None:
        receive, send = replaying(scope, receive), _without_cors(send)
        if not changes_state(scope, action):
            await self._application(scope, receive, send)
            return
        declares = may_declare(scope, action)
        failures: list[Exception] = []
        losses = self._store.losses
        try:
            self._state.commit()
            if declares:
                self._store.check_room()
        except CannotStore as error:
            # Or the body would be taken for the next request
            await read_body(scope, receive)
            await _refuse(send, bool(action), str(error))
            return

        async def send_when_stored(message: Any) -> None:
            if message["type"] == "http.response.start":
                try:
                    if declares:
                        self._state.may_have_changed()
                    self._state.commit()
                    # Another request may have lost what this one wrote
                    if self._store.losses != losses:
                        raise CannotStore("the transaction was lost")
                    if self._synchronization is not None:
                        await self._synchronization.wait()
                except (CannotStore, OSError) as error:
                    failures.append(error)
                    await _refuse(send, bool(action), str(error))
            if not failures:
                await send(message)

        await self._application(scope, receive, send_when_stored)


def _transaction(body: bytes) -> Json:
    """Return the request for a transaction; raises :class:`Refused`."""
    try:
        request = json.loads(body)
    except ValueError:
        request = None
    if not isinstance(request, dict) or not isinstance(request.get("TransactItems"), list):
        raise Refused("SerializationException", "TransactItems must be a list of actions")
    return request


def changes_state(scope: Scope, action: str) -> bool:
    """Tell whether an HTTP request may change what is stored."""
    if not action:
        return scope["method"] not in ("GET", "HEAD", "OPTIONS")
    return not action.startswith(_READS)


def may_declare(scope: Scope, action: str) -> bool:
    """Tell whether a request may change more than items, messages and objects."""
    if action in _NO_DOCUMENTS or _is_of_object(scope):
        return False
    return not any(call in scope["path"] for call in _CALLS)


def _is_of_object(scope: Scope) -> bool:
    bucket, _, key = scope["path"].lstrip("/").partition("/")
    return bool(bucket and key) and "/s3/aws4_request" in header(scope, b"authorization")


def _without_cors(send: Send) -> Send:
    """Return a ``send`` that lets no web page read what it sends."""

    async def send_on(message: Any) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                each
                for each in message.get("headers", ())
                if not each[0].lower().startswith(b"access-control-")
            ]
        await send(message)

    return send_on


def _hang_up(receive: Receive) -> asyncio.Future[None]:
    """Return what is done when the client hangs up."""

    async def listen() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    return asyncio.ensure_future(listen())


async def _refuse(send: Send, has_action: bool, reason: str) -> None:
    """Send an answer after which clients try again."""
    text = f"The local cloud cannot store anything now: {reason}"
    if has_action:
        body, headers = json.dumps({"__type": "ServiceUnavailable", "message": text}), _JSON
    else:
        body = f"<Error><Code>ServiceUnavailable</Code><Message>{text}</Message></Error>"
        headers = {"content-type": "application/xml"}
    await answer(send, 503, body.encode(), headers)
