"""Send unusual and invalid HTTP requests, and get the errors that the specification defines."""

from __future__ import annotations

import http.client
import json

import pytest

from tests.journey.service import KEY, Service

TRANSMISSIONS = "/api/v1/transmissions"


def _message(**fields: object) -> dict[str, object]:
    return {
        "recipients": [{"address": "edge@inbox.test"}],
        "content": {"from": "hello@example.test", "subject": "s", "text": "t"},
    } | fields


@pytest.mark.spec("7-t4")
def test_an_unknown_path_is_404_at_any_depth(service: Service) -> None:
    for path in ("/nothing", "/api/v1/nothing/at/all", "/api/v2/account"):
        response = service.request("GET", path)
        assert response.status == 404
        assert response.json == {"errors": [{"message": "Resource could not be found"}]}


@pytest.mark.spec("7-t5")
def test_a_wrong_method_is_405_and_says_what_is_allowed(service: Service) -> None:
    response = service.request("DELETE", "/api/v1/account")
    assert response.status == 405
    assert "GET" in response.headers["allow"]
    assert response.json["errors"][0]["message"] == "Method Not Allowed"


@pytest.mark.spec("5-r5")
@pytest.mark.spec("7-t2")
@pytest.mark.parametrize("key", [None, "wrong", "Basic d3Jvbmc6", "Basic !!!", "Bearer x"])
def test_missing_or_wrong_credentials_are_401(service: Service, key: str | None) -> None:
    response = service.request("GET", "/api/v1/account", key=key)
    assert response.status == 401
    (error,) = response.json["errors"]
    assert error["message"] == "Unauthorized."
    # What Authorization is to hold is said where it holds something else than a key
    assert ("description" in error) == (key in ("Bearer x", "Basic !!!"))


@pytest.mark.spec("5-r1")
def test_the_key_is_taken_raw_and_as_basic_user_name(service: Service) -> None:
    import base64

    basic = base64.b64encode(f"{KEY}:".encode()).decode()
    assert service.request("GET", "/api/v1/account", key=KEY).status == 200
    assert service.request("GET", "/api/v1/account", key=f"Basic {basic}").status == 200


@pytest.mark.spec("1-r1")
def test_a_trailing_slash_is_ignored(service: Service) -> None:
    assert service.request("GET", "/api/v1/account/").status == 200


@pytest.mark.spec("1-r5")
def test_unknown_fields_and_parameters_are_ignored(service: Service) -> None:
    assert service.request("GET", "/api/v1/account?surprise=1").status == 200
    response = service.request("POST", TRANSMISSIONS + "?surprise=1", _message(surprise={"a": 1}))
    assert response.status == 200


@pytest.mark.spec("7-t8")
def test_a_body_that_is_not_json_by_its_type_is_415(service: Service) -> None:
    response = service.request(
        "POST", TRANSMISSIONS, b"a=1", headers={"Content-Type": "text/plain"}
    )
    assert response.status == 415


@pytest.mark.spec("1-r6")
@pytest.mark.spec("8-t16")
@pytest.mark.parametrize(
    "body",
    [
        *(b"{", b"", b"[]", b"null", b'"x"', b"[" * 5000, b"\xff\xfe"),
        *(b'{"a": NaN}', b'{"a": 2147483648}', b'{"a": 1e999}'),
        *(b'{"recipients": 1}', b'{"recipients": [], "content": []}'),
    ],
)
def test_a_bad_body_gets_a_client_error_and_never_a_server_error(
    service: Service, body: bytes
) -> None:
    response = service.request("POST", TRANSMISSIONS, body)
    assert 400 <= response.status < 500
    assert response.json["errors"][0]["message"]


def test_a_chunked_body_is_read(service: Service) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", service.api_port, timeout=120)
    body = json.dumps(_message()).encode()
    pieces = [body[i : i + 50] for i in range(0, len(body), 50)]
    headers = {"Content-Type": "application/json", "Authorization": KEY}
    connection.request("POST", TRANSMISSIONS, iter(pieces), headers, encode_chunked=True)
    response = connection.getresponse()
    assert response.status == 200, response.read()


@pytest.mark.spec("7-t7")
@pytest.mark.spec("8-t6")
def test_a_body_over_the_limit_is_413(own_service: Service) -> None:
    own_service.start(MAX_BODY_BYTES="100000")
    response = own_service.request("POST", TRANSMISSIONS, b" " * 200_000)
    assert response.status == 413
    assert response.json["errors"][0]["message"]
    assert own_service.request("GET", "/api/v1/account").status == 200


@pytest.mark.spec("4.6-t1")
def test_the_account_is_shown(service: Service) -> None:
    account = service.request("GET", "/api/v1/account").json["results"]
    assert account["customer_id"] == 1
    assert account["status"] == "active"
    assert account["options"]["smtp_tracking_default"] is False
