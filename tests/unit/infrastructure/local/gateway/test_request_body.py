from __future__ import annotations

import asyncio
from typing import Any

import pytest

from infrastructure.local.gateway import request_body
from infrastructure.local.gateway.request_body import RequestBody, read_body


def _read(*messages: dict[str, Any], limit: int = 10, **headers: str) -> RequestBody | None:
    pending = list(messages)

    async def receive() -> Any:
        return pending.pop(0)

    pairs = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return asyncio.run(read_body({"headers": pairs}, receive, limit))


def _piece(size: int, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": b"x" * size, "more_body": more}


def test_the_chunks_of_a_request_body_are_joined() -> None:
    assert _read(_piece(3), _piece(0), _piece(7, more=False)) == (b"x" * 10, False, False)


def test_a_too_large_body_is_read_to_its_end_and_dropped() -> None:
    assert _read(_piece(11), _piece(50), _piece(1, more=False)) == (b"", True, False)


def test_reading_a_too_large_body_stops_at_the_drain_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "_DRAIN_LIMIT", 40)
    assert _read(_piece(30), _piece(30)) == (b"", True, True)


def test_a_too_large_body_announced_by_expect_is_not_read() -> None:
    assert _read(expect="100-Continue", content_length="11") == (b"", True, True)


def test_a_small_body_announced_by_expect_is_read() -> None:
    body = _read(_piece(10, more=False), expect="100-continue", content_length="10")
    assert body == (b"x" * 10, False, False)


def test_a_client_that_disconnects_gives_no_body() -> None:
    assert _read(_piece(5), {"type": "http.disconnect"}) is None
