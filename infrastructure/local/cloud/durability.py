"""Answer a request only when what it changed is in the log, and refuse it when that cannot be.

Repairs (MiniStack 1.5.33): MiniStack writes its state only when it ends in an orderly way, so a
SIGKILL would lose all of it. An object that it cannot write to the disk it keeps in memory, and
answers as if it were stored.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ministack.services import s3

from infrastructure.local.cloud.documents import Documents
from infrastructure.local.cloud.journal import ChangeJournal

if TYPE_CHECKING:
    from infrastructure.local.cloud.long_polls import AsgiApplication, Receive, Scope, Send

# Assumed of a request that does not tell its size
_LARGEST_BODY = 16 << 20
_READS = ("Get", "List", "Describe", "Query", "Scan", "BatchGet", "TransactGet")
# Of DynamoDB and SQS: actions of which each change is noted where it is made
_NOTED = {
    *("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"),
    *("SendMessage", "SendMessageBatch", "ReceiveMessage", "DeleteMessage", "DeleteMessageBatch"),
    *("ChangeMessageVisibility", "ChangeMessageVisibilityBatch", "PurgeQueue"),
    # Of KMS: actions that change nothing
    *("Encrypt", "Decrypt", "GenerateDataKey", "Sign", "Verify"),
}
# Services whose requests change the documents of no other, by how the target of a request starts
_ALONE = {"DynamoDB_20120810": "dynamodb", "AmazonSQS": "sqs"}
# Paths that run a function, which makes requests of its own when it changes something
_CALLS = ("/invocations", "/_aws/execute-api/")

_unwritten_objects: ContextVar[list[OSError]] = ContextVar("unwritten_objects")


def changes_state(scope: Mapping[str, Any]) -> bool:
    """Tell whether an HTTP request may change what is stored."""
    if scope["type"] != "http":
        return False
    target = _target(scope)
    if not target:
        return scope["method"] not in ("GET", "HEAD", "OPTIONS")
    return not target.startswith(_READS)


def changed_documents(scope: Mapping[str, Any]) -> str | None:
    """Return the service of which an HTTP request may change more than items and messages.

    It is empty for a request that may change several services, and ``None`` for one that changes
    nothing but items, messages and objects.
    """
    if not changes_state(scope) or _target(scope) in _NOTED:
        return None
    if _is_of_object(scope) or any(call in scope["path"] for call in _CALLS):
        return None
    return _ALONE.get(_header(scope, b"x-amz-target").partition(".")[0], "")


def _target(scope: Mapping[str, Any]) -> str:
    """Return the action that a header of the request names, or nothing."""
    return _header(scope, b"x-amz-target").rpartition(".")[2]


def _header(scope: Mapping[str, Any], name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def _is_of_object(scope: Mapping[str, Any]) -> bool:
    bucket, _, key = scope["path"].lstrip("/").partition("/")
    return bool(bucket and key) and "/s3/aws4_request" in _header(scope, b"authorization")


class Durable:
    """An ASGI application that makes another one durable."""

    def __init__(
        self, application: AsgiApplication, journal: ChangeJournal, documents: Documents
    ) -> None:
        self._application = application
        self._journal = journal
        self._documents = documents
        self._write_file = s3._atomic_write
        self._write_object = s3._persist_object

    def install(self) -> None:
        """Have MiniStack tell when it cannot write an object."""
        s3._atomic_write = self._write_file_or_tell
        s3._persist_object = self._write_object_or_tell

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if not changes_state(scope):
            await self._application(scope, receive, send)
            return
        size = _header(scope, b"content-length")
        try:
            self._journal.make_room(int(size) if size.isdigit() else _LARGEST_BODY)
        except OSError as error:
            # Or the body would be taken for the next request
            while (await receive()).get("more_body"):
                pass
            await _refuse(scope, send, error)
            return
        errors: list[OSError] = []
        _unwritten_objects.set(errors)

        async def send_when_written(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._commit(scope, errors)
                for error in errors[:1]:
                    self._journal.tell_failure(error)
            if not errors:
                await send(message)
            elif message["type"] == "http.response.start":
                await _refuse(scope, send, errors[0])

        await self._application(scope, receive, send_when_written)

    def _commit(self, scope: Scope, errors: list[OSError]) -> None:
        if (service := changed_documents(scope)) is not None:
            self._documents.may_have_changed(service)
        try:
            self._journal.commit()
        except OSError as error:
            errors.append(error)

    def _write_file_or_tell(self, path: str, data: Any, **options: Any) -> None:
        try:
            self._write_file(path, data, **options)
        except OSError as error:
            _unwritten_objects.get([]).append(error)
            raise

    def _write_object_or_tell(self, bucket: str, key: str, record: Any) -> None:
        self._write_object(bucket, key, record)
        # MiniStack keeps the body in memory when it could not make its directory
        if isinstance(record, dict) and record.get("body") is not None:
            _unwritten_objects.get([]).append(OSError(errno.EIO, f"no place for {bucket}/{key}"))


async def _refuse(scope: Scope, send: Send, error: OSError) -> None:
    """Send an answer after which clients try again."""
    text = f"The local cloud cannot store anything now: {error.strerror}"
    if _target(scope):
        type_ = "application/x-amz-json-1.0"
        body = json.dumps({"__type": "ServiceUnavailable", "message": text})
    else:
        type_ = "application/xml"
        body = f"<Error><Code>ServiceUnavailable</Code><Message>{text}</Message></Error>"
    headers = [
        (b"content-type", type_.encode()),
        (b"content-length", str(len(body.encode())).encode()),
    ]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})
