"""Read and write the local DNS over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infrastructure.local.dns.zone import LocalZone
from infrastructure.local.gateway.dns_endpoint import MAX_BODY_BYTES, DnsEndpoint
from tests.unit.infrastructure.local.dns.fakes import FakeService
from tests.unit.infrastructure.local.gateway.local_client import LocalClient

MX = {"type": "MX", "value": "10 mail.a.com"}

SHOP = {
    "name": "shop.test",
    "origin": "service",
    "records": [{"type": "CNAME", "value": "postfinch.test"}],
}
COMPANY = {"name": "mycompany.com", "origin": "user", "records": [MX]}


class Client:
    """Calls the endpoint with ASGI messages."""

    def __init__(self, zone: LocalZone) -> None:
        self._client = LocalClient(DnsEndpoint(zone, FakeService()).routes())

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return status and JSON body; a body of bytes is sent as it is."""
        reply = self._client.ask(method, path, body)
        return reply.status, reply.json


@pytest.fixture
def zone(tmp_path: Path) -> LocalZone:
    return LocalZone(tmp_path)


@pytest.fixture
def client(zone: LocalZone) -> Client:
    return Client(zone)


def test_what_is_put_is_answered_and_shown(client: Client, zone: LocalZone) -> None:
    body = {"records": [{"type": "mx", "value": "10 Mail.A.com."}]}
    assert client.ask("PUT", "/local/dns/MyCompany.com.", body) == (200, {"results": COMPANY})
    assert zone.lookup("mycompany.com") == [("MX", "10 mail.a.com")]
    assert client.ask("GET", "/local/dns/mycompany.com/") == (200, {"results": COMPANY})
    assert client.ask("GET", "/local/dns") == (200, {"results": [COMPANY, SHOP]})


def test_the_records_of_the_service_are_shown(client: Client) -> None:
    assert client.ask("GET", "/local/dns/") == (200, {"results": [SHOP]})
    assert client.ask("GET", "/local/dns/shop.test") == (200, {"results": SHOP})


def test_deleting_gives_the_name_back_to_the_service(client: Client) -> None:
    client.ask("PUT", "/local/dns/shop.test", {"records": [MX]})
    assert client.ask("GET", "/local/dns/shop.test")[1]["results"]["origin"] == "user"
    deletion = (200, {"results": {"name": "shop.test"}})
    assert client.ask("DELETE", "/local/dns/shop.test") == deletion
    assert client.ask("GET", "/local/dns/shop.test") == (200, {"results": SHOP})
    status, body = client.ask("DELETE", "/local/dns/shop.test")
    assert (status, body) == (404, {"errors": [{"message": "no records were put at shop.test"}]})


def test_a_name_without_records_is_not_found(client: Client) -> None:
    status, body = client.ask("GET", "/local/dns/b.com")
    assert status == 404
    assert body["errors"][0]["message"] == "b.com does not exist in the local DNS"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("name", ["a b.com", "a%2Fb", "..%2Fsecret", "127.0.0.1"])
def test_what_is_no_name_is_refused(client: Client, method: str, name: str) -> None:
    status, body = client.ask(method, f"/local/dns/{name}", {"records": [MX]})
    assert status == 400
    assert "is not a name that can be in the DNS" in body["errors"][0]["message"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 422),
        (b"\xff", 400),
        (b'{"records": []}', 400),
        (b'{"records": [{"type": "A", "value": "x"}]}', 400),
        (b'{"records": [{"type": "TXT", "value": "\\ud800"}]}', 422),
        (b"x" * (MAX_BODY_BYTES + 1), 413),
    ],
)
def test_a_bad_body_is_refused_and_changes_nothing(
    client: Client, zone: LocalZone, body: bytes, status: int
) -> None:
    client.ask("PUT", "/local/dns/mycompany.com", {"records": [MX]})
    response_status, response = client.ask("PUT", "/local/dns/mycompany.com", body)
    assert response_status == status
    assert response["errors"][0]["message"]
    assert zone.lookup("mycompany.com") == [("MX", "10 mail.a.com")]


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/local/dns"), ("DELETE", "/local/dns/"), ("POST", "/local/dns/a.com")],
)
def test_other_methods_are_not_allowed(client: Client, method: str, path: str) -> None:
    assert client.ask(method, path)[0] == 405
