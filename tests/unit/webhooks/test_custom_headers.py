from __future__ import annotations

from typing import Any

import pytest

from chalicelib.webhooks.custom_headers import fault


@pytest.mark.spec("2.10-t6")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Team": "mail"},
        {"Authorization": "ApiKey abc", "User-Agent": "Ours", "X-Empty": ""},
        {f"X-{n}": "a" for n in range(5)},
        {"X-A": "x" * 2996},
    ],
)
def test_headers_within_the_rules_are_accepted(headers: Any) -> None:
    assert fault(headers) == ""


@pytest.mark.spec("2.10-t6")
@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ([], "must be an object"),
        ("X-A: b", "must be an object"),
        ({"X-A": 1}, "must hold strings"),
        ({"X-A": None}, "must hold strings"),
        ({f"X-{n}": "a" for n in range(6)}, "at most 5 entries"),
        ({"X-A": "x" * 2997}, "less than 3000 bytes"),
        ({"X-A": "ä" * 1500}, "less than 3000 bytes"),
        ({"X-A": "b\r\nX-C: d"}, "printable ASCII on one line"),
        ({"X-A": "b\nX-C: d"}, "printable ASCII on one line"),
        ({"X-A": "b\x00"}, "printable ASCII on one line"),
        ({"X-A": "ä"}, "printable ASCII on one line"),
        ({"X-A\r\nX-B": "c"}, "is no header name"),
        ({"X A": "c"}, "is no header name"),
        ({"X-A:": "c"}, "is no header name"),
        ({"": "c"}, "is no header name"),
        ({"X-A": "b", "x-a": "c"}, "given twice"),
    ],
)
def test_headers_outside_the_rules_are_refused(headers: Any, message: str) -> None:
    assert message in fault(headers)


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "Connection",
        "Content-Type",
        "Proxy-Authorization",
        "X-SVC-Batch-ID",
        "X-MessageSystems-Batch-ID",
        "x-svc-webhook-token",
        "Webhook-Signature",
    ],
)
def test_a_header_that_the_service_sets_is_refused(name: str) -> None:
    assert fault({name: "x"}) == f"custom_headers: {name} is set by the service"
