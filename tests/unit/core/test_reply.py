from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import Any

import pytest

from chalicelib.core.reply import SECURITY_HEADERS, Reply, empty, ok, raw, redirect
from chalicelib.core.settings import settings


def _body(reply: Reply) -> Any:
    return json.loads(reply.to_gateway("r")["body"])


@pytest.mark.spec("1-r7")
def test_a_success_is_json_under_results() -> None:
    response = ok([1], total_count=1, links={}).to_gateway("r")
    assert response["statusCode"] == 200
    own = {"Content-Type": "application/json", "X-Request-ID": "r"}
    assert response["headers"] == SECURITY_HEADERS | own
    assert json.loads(response["body"]) == {"results": [1], "total_count": 1, "links": {}}


def test_a_reply_may_have_another_status_and_headers() -> None:
    response = ok({}, status=202, headers={"X-Idempotent-Replayed": "true"}).to_gateway("r")
    assert response["statusCode"] == 202
    assert response["headers"]["X-Idempotent-Replayed"] == "true"


@pytest.mark.parametrize(("status", "typed"), [(200, True), (204, False)])
def test_an_empty_reply_has_no_body(status: int, typed: bool) -> None:
    response = empty(status).to_gateway("r")
    assert (response["statusCode"], response["body"]) == (status, "")
    assert ("Content-Type" in response["headers"]) is typed


def test_an_empty_reply_is_an_object_to_clients_of_the_vendor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VENDOR_ALIAS", "true")
    settings.cache_clear()
    assert [empty().body, empty(204).body] == [b"{}", b""]
    settings.cache_clear()


def test_raw_bytes_are_carried_in_base64() -> None:
    response = raw(b"\x89PNG\xff", "image/png").to_gateway("r")
    assert response["isBase64Encoded"] is True
    assert base64.b64decode(response["body"]) == b"\x89PNG\xff"
    assert response["headers"]["Content-Type"] == "image/png"


def test_a_redirect_names_its_target() -> None:
    response = redirect("https://example.test/?a=1").to_gateway("r")
    assert response["statusCode"] == 302
    assert response["headers"]["Location"] == "https://example.test/?a=1"


def test_stored_numbers_are_plain_json_numbers() -> None:
    assert _body(ok([Decimal("7"), Decimal("0.5"), Decimal("1E+2")])) == {"results": [7, 0.5, 100]}
    assert ok(Decimal("7")).to_gateway("r")["body"] == '{"results":7}'


def test_half_a_surrogate_pair_from_a_stored_header_does_not_break_the_reply() -> None:
    body = ok("\udce9").to_gateway("r")["body"]
    assert json.loads(body.encode("utf-8")) == {"results": "\udce9"}


@pytest.mark.parametrize("value", [float("nan"), object(), {1, 2}, b"x"])
def test_a_value_that_json_cannot_hold_is_a_fault(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        ok(value).to_gateway("r")


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: x", "a\nb", "a\x00", "ä"])
def test_a_header_cannot_be_split(value: str) -> None:
    with pytest.raises(ValueError, match="unsafe"):
        redirect(value).to_gateway("r")
