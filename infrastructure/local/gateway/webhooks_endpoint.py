"""Receive webhooks, and show what came: ``/local/webhooks``.

Any name is a receiver: point a webhook at ``/local/webhooks/<name>``. A receiver can be told to
fail or to hang, and verifies signatures when it knows the secret (standardwebhooks.com).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from pydantic import ConfigDict, Field, ValidationError

from chalicelib.core import clock
from chalicelib.core.fields import Body
from chalicelib.webhooks import signatures
from infrastructure.local.gateway.local_api import (
    LocalError,
    LocalReply,
    LocalRequest,
    LocalRoute,
    NoSuchThing,
    results,
    whole_number,
)
from infrastructure.local.gateway.webhook_store import (
    MOST_RECEIVERS,
    MOST_REQUESTS,
    Behaviour,
    ReceivedRequest,
    Receiver,
    TooManyReceivers,
    WebhookStore,
)

PREFIX = "/local/webhooks"
MAX_BODY_BYTES = 10 * 1024 * 1024
MOST_HANGING = 100
DEFAULT_LIMIT = 50

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


class ReceiverBody(Body):
    """The body that changes a receiver."""

    model_config = ConfigDict(extra="forbid")

    secret: Annotated[str, Field(max_length=200)] | None = None
    status: Annotated[int, Field(ge=200, le=599)] = 200
    delay: Annotated[float, Field(ge=0, le=600)] = 0.0
    times: Annotated[int, Field(ge=1)] | None = None


class WebhooksEndpoint:
    """The operations of ``/local/webhooks``; ``publish`` tells the live stream of requests."""

    def __init__(self, store: WebhookStore, publish: Callable[[str, Any], None]) -> None:
        self._store = store
        self._publish = publish
        self._hanging = 0

    def routes(self) -> list[LocalRoute]:
        """Return the routes."""
        one = f"{PREFIX}/{{name}}"
        return [
            LocalRoute("GET", PREFIX, self.list_receivers),
            LocalRoute("POST", one, self.receive, MAX_BODY_BYTES),
            LocalRoute("GET", one, self.show),
            LocalRoute("PUT", one, self.change),
            LocalRoute("DELETE", one, self.delete),
            LocalRoute("GET", f"{one}/requests", self.list_requests),
            LocalRoute("DELETE", f"{one}/requests", self.clear),
            LocalRoute("GET", f"{one}/requests/{{id}}", self.show_request),
        ]

    async def receive(self, request: LocalRequest) -> LocalReply:
        """Receive a webhook's batch, and answer as the receiver is told to."""
        name = _name(request)
        try:
            add = self._store.add
            request_id, behaviour = await asyncio.to_thread(
                add, name, request.headers, request.body
            )
        except TooManyReceivers:
            raise LocalError(409, f"there are {MOST_RECEIVERS} receivers already") from None
        self._publish("webhook", {"receiver": name, "id": request_id})
        if behaviour.delay and self._hanging < MOST_HANGING:
            self._hanging += 1
            try:
                await asyncio.sleep(behaviour.delay)
            finally:
                self._hanging -= 1
        return results({"id": request_id}, behaviour.status)

    def list_receivers(self, request: LocalRequest) -> LocalReply:
        """List the receivers."""
        return results([_view(receiver) for receiver in self._store.receivers()])

    def show(self, request: LocalRequest) -> LocalReply:
        """Show a receiver."""
        return results(_view(self._receiver(request)))

    def change(self, request: LocalRequest) -> LocalReply:
        """Set how a receiver answers, and the secret with which it verifies signatures."""
        name = _name(request)
        receiver = self._store.receiver(name) or Receiver(name, "", Behaviour())
        present = {
            "status": receiver.behaviour.status,
            "delay": receiver.behaviour.delay,
            "times": receiver.behaviour.times,
            "secret": receiver.secret,
        }
        body = _body(present | request.json())
        behaviour = Behaviour(body.status, body.delay, body.times)
        try:
            self._store.put(replace(receiver, secret=body.secret or "", behaviour=behaviour))
        except TooManyReceivers:
            raise LocalError(409, f"there are {MOST_RECEIVERS} receivers already") from None
        return results(_view(self._receiver(request)))

    def delete(self, request: LocalRequest) -> LocalReply:
        """Delete a receiver and what it got."""
        if not self._store.delete(_name(request)):
            raise NoSuchThing
        return results({"deleted": 1})

    def list_requests(self, request: LocalRequest) -> LocalReply:
        """List what a receiver got, newest first."""
        receiver = self._receiver(request)
        limit = whole_number(request.query, "limit", DEFAULT_LIMIT, MOST_REQUESTS)
        requests = self._store.requests(receiver.name, limit)
        return results([_request_view(each, receiver.secret) for each in requests])

    def show_request(self, request: LocalRequest) -> LocalReply:
        """Show a request with its headers and its body."""
        receiver, digits = self._receiver(request), request.parameters["id"]
        is_number = digits.isascii() and digits.isdigit() and len(digits) < 18
        each = self._store.request(receiver.name, int(digits)) if is_number else None
        if each is None:
            raise NoSuchThing
        headers = [{"name": name, "value": value} for name, value in each.headers]
        body = each.body.decode("utf-8", "replace")
        return results({**_request_view(each, receiver.secret), "headers": headers, "body": body})

    def clear(self, request: LocalRequest) -> LocalReply:
        """Delete what a receiver got."""
        return results({"deleted": self._store.clear(self._receiver(request).name)})

    def _receiver(self, request: LocalRequest) -> Receiver:
        receiver = self._store.receiver(_name(request))
        if receiver is None:
            raise NoSuchThing
        return receiver


def _name(request: LocalRequest) -> str:
    name = request.parameters["name"]
    if not _NAME.fullmatch(name):
        raise LocalError(400, "a receiver's name has 1 to 64 letters, digits, dots, _ and -")
    return name


def _body(values: dict[str, Any]) -> ReceiverBody:
    try:
        body = ReceiverBody(**values)
    except ValidationError as error:
        first = error.errors()[0]
        raise LocalError(400, f"{first['loc'][0]}: {first['msg']}") from None
    try:
        signatures.is_valid(body.secret or "", {}, b"")
    except ValueError:
        raise LocalError(400, "secret: it must be as the service showed it: whsec_...") from None
    return body


def _view(receiver: Receiver) -> dict[str, Any]:
    return {
        "name": receiver.name,
        "path": f"{PREFIX}/{receiver.name}",
        "has_secret": bool(receiver.secret),
        "status": receiver.behaviour.status,
        "delay": receiver.behaviour.delay,
        "times": receiver.behaviour.times,
        "requests": receiver.requests,
    }


def _request_view(request: ReceivedRequest, secret: str) -> dict[str, Any]:
    return {
        "id": request.id,
        "received_at": clock.iso_ms(request.received_ms),
        "status": request.status,
        "delay": request.delay,
        "size": len(request.body),
        "signature": _judgement(request, secret),
    }


def _judgement(request: ReceivedRequest, secret: str) -> str:
    headers = {name.lower(): value for name, value in request.headers}
    if not secret:
        return "unchecked"
    if signatures.HEADERS[-1] not in headers:
        return "missing"
    return "valid" if signatures.is_valid(secret, headers, request.body) else "invalid"
