"""Add up the sessions of a day, from all delivery processes.

Access patterns of ``messages``:

- the sessions of a day with hosts of a domain → ``tls-sessions#<day>`` / ``<domain>#<digest>``
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from chalicelib.core import clock, compact_json
from chalicelib.core.dynamo import Keyed, Table
from chalicelib.delivery.tls_reports.session_result import SessionResult

_RETENTION_SECONDS = 7 * 86_400


class SessionsItem(Keyed):
    """The sessions of a day with a domain's hosts that ended alike."""

    #: The fields of ``SessionResult``
    result: dict[str, Any]
    #: How many there were
    sessions: int
    expires: int


_messages: Table[SessionsItem] = Table("messages")


def add(day: str, result: SessionResult, sessions: int) -> None:
    """Count sessions of a day (``2026-01-31``) that ended alike."""
    fields = asdict(result)
    digest = hashlib.sha256(compact_json.dumps(fields)).hexdigest()[:24]
    _messages.update(
        _partition(day),
        f"{result.domain}#{digest}",
        "ADD #sessions :sessions SET #result = :result, #expires = :expires",
        values={
            "sessions": sessions,
            "result": fields,
            "expires": int(clock.now()) + _RETENTION_SECONDS,
        },
    )


def sessions_of(day: str, domain: str) -> Iterator[tuple[SessionResult, int]]:
    """Yield how the sessions for mail to a domain ended, and how many ended so."""
    items = _messages.query_all(
        "#pk = :pk AND begins_with(#sk, :domain)",
        {"pk": _partition(day), "domain": f"{domain}#"},
        consistent=True,
    )
    for item in items:
        yield _result(item["result"]), int(item["sessions"])


def _result(fields: dict[str, Any]) -> SessionResult:
    lists = {name: tuple(fields[name]) for name in ("policy", "hosts")}
    return SessionResult(**fields | lists)


def _partition(day: str) -> str:
    return f"tls-sessions#{day}"
