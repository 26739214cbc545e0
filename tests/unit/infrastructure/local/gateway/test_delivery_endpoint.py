"""Tell by what mail leaves, and try it, over HTTP."""

from __future__ import annotations

from chalicelib.core.settings import Settings
from infrastructure.local.gateway.delivery_endpoint import DeliveryEndpoint
from tests.unit.delivery.scripted_server import ScriptedServer
from tests.unit.infrastructure.local.gateway.local_client import LocalClient


def client_of(current: Settings) -> LocalClient:
    return LocalClient(DeliveryEndpoint(current, sink_port=1).routes())


def test_nothing_leaves_and_nothing_is_tried_without_deliver() -> None:
    client = client_of(Settings(deliver=False, smarthost="mail.test:587"))
    assert client.ask("GET", "/local/delivery").results == {"leaves_by": None, "warning": None}
    assert client.ask("GET", "/local/delivery/smarthost").results is None


def test_the_smarthost_by_which_mail_leaves_is_named_and_tried() -> None:
    with ScriptedServer() as host:
        name = f"127.0.0.1:{host.port}"
        client = client_of(Settings(smarthost=name, smarthost_tls="off"))
        assert client.ask("GET", "/local/delivery").results == {
            "leaves_by": name,
            "warning": f"Mail leaves this machine by {name}.",
        }
        finding = client.ask("GET", "/local/delivery/smarthost").results
    assert (finding["status"], finding["detail"]) == ("ok", "answers in the clear")
    assert host.conversations[0].verbs() == ["EHLO", "QUIT"]


def test_a_smarthost_by_which_nothing_leaves_is_not_tried() -> None:
    client = client_of(Settings(transport="mx", smarthost="mail.test:587"))
    assert client.ask("GET", "/local/delivery/smarthost").results is None
