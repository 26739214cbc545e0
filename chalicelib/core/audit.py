"""Write who changed what, in the transaction of the change.

While a request is answered, :func:`bound` says who makes it. A store that changes something adds
the :func:`line` of the change to the transaction that makes it, so that there is never one without
the other. Where nobody is bound, such as in the workers, there is no line.

Lines are kept for ``AUDIT_RETENTION`` and never changed. ``audit_log.store`` reads them.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Generic, NotRequired, Protocol, TypeVar

from chalicelib.core import clock, dynamo
from chalicelib.core.dynamo import Keyed, Table, Write
from chalicelib.core.request import NOBODY, Actor
from chalicelib.core.settings import settings

_log = logging.getLogger(__name__)

DONE: Final = "done"
REFUSED: Final = "refused"
OUTCOMES: Final = (DONE, REFUSED)

#: Longest text and list of a changed field that a line holds; longer ones are cut
MOST_TEXT: Final = 500
MOST_ENTRIES: Final = 50
#: Longest JSON of the value of a field; a longer one is cut, and shown as text
MOST_JSON: Final = 2000
#: Longest id of a resource
MOST_ID: Final = 400
_MOST_FIELDS = 60
_CUT = "…"
_SECRET = re.compile(
    r"passw|secret|token|credential|private|sealed|recovery|^key$|_key$", re.IGNORECASE
)
#: What a secret field shows in place of its value
HIDDEN: Final = "(hidden)"


class Personal(str):
    """A text about a person: a line tells that it changed, and outlives the person's erasure."""

    __slots__ = ()


class AuditItem(Keyed):
    """A line of the audit log."""

    #: Where the line is about one resource, the partition of the index
    resource_key: NotRequired[str]
    id: str
    account_id: int
    subaccount_id: NotRequired[int]
    #: In milliseconds
    ts: int
    #: ``user``, ``key`` or ``operator``
    actor_type: str
    actor_id: str
    actor_label: str
    action: str
    path: str
    resource: str
    resource_id: NotRequired[str]
    outcome: str
    #: JSON: field → ``{"from": ..., "to": ...}``
    changes: str
    ip: str
    request_id: str
    expires: int


_lines: Table[AuditItem] = Table("audit")
#: Lines of one process and millisecond keep their order
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Author:
    """Who makes a request, and which: ``action`` is its method, or the operator's command.

    ``resource`` is the first part of the path (``templates``).
    """

    account_id: int
    actor: Actor
    action: str
    path: str
    resource: str
    ip: str = ""
    request_id: str = ""
    subaccount_id: int | None = None


_author: ContextVar[Author | None] = ContextVar("author", default=None)


@contextmanager
def bound(author: Author | None) -> Iterator[None]:
    """Make ``author`` the author of all changes within."""
    token = _author.set(author)
    try:
        yield
    finally:
        _author.reset(token)


def author() -> Author | None:
    """Return who makes the changes here, or ``None``."""
    return _author.get()


def actor() -> Actor:
    """Return who makes the changes here, or ``NOBODY``."""
    present = _author.get()
    return present.actor if present else NOBODY


def line(
    resource_id: str,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    *,
    resource: str = "",
    subaccount_id: int | None = None,
    of: Author | None = None,
    outcome: str = DONE,
) -> list[Write]:
    """Return the action that writes the line of a change: none where nobody is bound.

    ``before`` and ``after`` are the fields of the resource as the API shows them, ``None`` where it
    did not exist before or does not any more. ``subaccount_id`` is the owner of the resource; by
    default the subaccount that the request is about. ``resource`` is by default the first part of
    the path. ``of`` stands for an author that is not bound.
    """
    present = of or _author.get()
    if present is None:
        return []
    owner = present.subaccount_id if subaccount_id is None else subaccount_id
    return [
        dynamo.put(
            _lines,
            _item(
                replace(present, resource=resource or present.resource, subaccount_id=owner),
                resource_id,
                differences(before, after),
                outcome,
            ),
        )
    ]


def change_line(
    resource_id: str,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    *,
    resource: str = "",
    subaccount_id: int | None = None,
) -> list[Write]:
    """Return :func:`line`, or nothing where both are alike.

    It is for writes that may change only what the API does not show, such as the time of the next
    check of a domain.
    """
    if before == after:
        return []
    return line(resource_id, before, after, resource=resource, subaccount_id=subaccount_id)


class OwnedRecord(Protocol):
    """A record that the primary account or a subaccount has."""

    @property
    def subaccount_id(self) -> int | None:
        """The subaccount that it belongs to, ``None`` for the primary account."""


RecordT = TypeVar("RecordT", bound=OwnedRecord)


@dataclass(frozen=True, slots=True)
class RecordLines(Generic[RecordT]):
    """What makes the lines about the records of one resource, each with its owner.

    ``shown_fields`` returns the fields of a record that a line tells about. With ``always`` there
    is a line although none of them changed, such as of a new password.
    """

    resource: str
    id_of: Callable[[RecordT], str]
    shown_fields: Callable[[RecordT], Mapping[str, Any]]
    always: bool = False

    def __call__(self, before: RecordT | None, after: RecordT | None) -> list[Write]:
        """Return the line of a change; ``None`` where the record did not exist or does not now."""
        record = after or before
        assert record is not None
        make = line if self.always else change_line
        return make(
            self.id_of(record),
            self.shown_fields(before) if before else None,
            self.shown_fields(after) if after else None,
            resource=self.resource,
            subaccount_id=record.subaccount_id,
        )


def commit(action: Write, lines: Sequence[Write]) -> None:
    """Apply one action with the lines of its change, in one request; raises TransactionFailed."""
    if lines:
        dynamo.transact([action, *lines])
    else:
        dynamo.write(action)


def note(
    resource_id: str,
    *,
    of: Author,
    outcome: str = DONE,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Write a line of its own, such as of a refused request.

    Where storage fails, the log of the process has the line: the request gets its own answer.
    """
    writes = line(resource_id, None, after, of=of, outcome=outcome)
    try:
        dynamo.write(writes[0])
    except Exception:
        _log.exception("%s by %s was not written to the audit log", of.path, of.actor.id)


def differences(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> dict[str, dict[str, Any]]:
    """Return the fields that differ, as ``{field: {"from": ..., "to": ...}}``.

    Values of fields that hold secrets are left out, long ones are cut.
    """
    old, new = before or {}, after or {}
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return {
        name: {"from": _bounded(name, old.get(name)), "to": _bounded(name, new.get(name))}
        for name in names[:_MOST_FIELDS]
    }


def _bounded(name: str, value: Any) -> Any:
    shown_value = shown(name, value)
    text = json.dumps(shown_value, ensure_ascii=False, default=str)
    return shown_value if len(text) <= MOST_JSON else text[:MOST_JSON] + _CUT


def shown(name: str, value: Any) -> Any:
    """Return the value of a field as a line holds it: cut, and hidden if the name is a secret's."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Personal) or _SECRET.search(name):
        return HIDDEN
    if isinstance(value, str):
        return value if len(value) <= MOST_TEXT else value[:MOST_TEXT] + _CUT
    if isinstance(value, Mapping):
        fields = list(value.items())[:MOST_ENTRIES]
        return {str(key): shown(str(key), inner) for key, inner in fields}
    if isinstance(value, list | tuple | set | frozenset):
        entries = sorted(value, key=str) if isinstance(value, set | frozenset) else list(value)
        inner = [shown("", entry) for entry in entries[:MOST_ENTRIES]]
        return inner if len(entries) <= MOST_ENTRIES else [*inner, _CUT]
    return str(value)[:MOST_TEXT]


def digest(text: str | None) -> str | None:
    """Return what stands for a long text, such as the HTML of a template: its size and its hash."""
    if text is None:
        return None
    data = text.encode(errors="surrogatepass")
    return f"{len(data)} bytes, SHA-256 {hashlib.sha256(data).hexdigest()[:12]}"


def partition(account_id: int, moment_ms: int) -> str:
    """Return the partition of an account's lines of a month (UTC)."""
    return f"{account_id}#{datetime.fromtimestamp(moment_ms / 1000, UTC):%Y-%m}"


def resource_key(account_id: int, resource: str, resource_id: str) -> str:
    """Return the partition of a resource's lines in the index ``by_resource``."""
    return f"{account_id}#{resource}#{resource_id[:MOST_ID]}"


def _item(of: Author, resource_id: str, changes: Mapping[str, Any], outcome: str) -> AuditItem:
    now, name = clock.now_ms(), f"{next(_numbers) % 0x10000:04x}{secrets.token_hex(6)}"
    item: AuditItem = {
        "pk": partition(of.account_id, now),
        "sk": f"{now:013d}#{name}",
        "id": f"{now:013d}{name}",
        "account_id": of.account_id,
        "ts": now,
        "actor_type": of.actor.type,
        "actor_id": of.actor.id,
        # The address of a user is looked up when the line is read, so that it can be erased
        "actor_label": "" if of.actor.type == "user" else of.actor.label[:MOST_TEXT],
        "action": of.action,
        "path": of.path,
        "resource": of.resource,
        "outcome": outcome,
        "changes": json.dumps(changes, separators=(",", ":"), default=str),
        "ip": of.ip,
        "request_id": of.request_id,
        "expires": now // 1000 + settings().audit_retention,
    }
    if resource_id:
        short = resource_id[:MOST_ID]
        item["resource_id"] = short
        item["resource_key"] = resource_key(of.account_id, of.resource, short)
    if of.subaccount_id:
        item["subaccount_id"] = of.subaccount_id
    return item
