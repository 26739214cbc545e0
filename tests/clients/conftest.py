"""Start one service that all clients of others use, with the vendor's names and https."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.mailpit_service import Mailpit, Outside, outside_host
from tests.clients.programs import Ports
from tests.free_ports import free_port
from tests.journey.service import Service, eventually
from tests.node_packages import install


@pytest.fixture(scope="package")
def outside() -> Iterator[tuple[Outside, int]]:
    """The mail host to which caught messages are released, and its port."""
    with outside_host() as host_and_port:
        yield host_and_port


@pytest.fixture(scope="package")
def mailpit_ports() -> Mailpit:
    """The two ports of the service at which programs look for Mailpit."""
    return Mailpit(free_port(), free_port())


@pytest.fixture(scope="package")
def service(
    tmp_path_factory: pytest.TempPathFactory, mailpit_ports: Mailpit, outside: tuple[Outside, int]
) -> Iterator[Service]:
    """A service with ``VENDOR_ALIAS``, whose responses and webhooks are those of the vendor.

    Some of its settings have Mailpit's names, as in the environment of one.
    """
    running = Service(tmp_path_factory.mktemp("clients"))
    running.start(
        VENDOR_ALIAS="true",
        MP_SMTP_BIND_ADDR=f"0.0.0.0:{mailpit_ports.smtp_port}",
        MP_UI_BIND_ADDR=f"0.0.0.0:{mailpit_ports.http_port}",
        MP_SMTP_AUTH_ACCEPT_ANY="true",
        MP_SMTP_AUTH_ALLOW_INSECURE="true",
        MP_ENABLE_CHAOS="true",
        MP_SMTP_RELAY_HOST="127.0.0.1",
        MP_SMTP_RELAY_PORT=str(outside[1]),
        RELEASE_RECIPIENTS="*@example.test",
        CATCH_PORT="",  # Mailpit's variables name them
        MAILPIT_PORT="",
    )
    yield running
    running.stop()


@pytest.fixture
def mailpit(service: Service, mailpit_ports: Mailpit) -> Iterator[Mailpit]:
    """Mailpit's ports with an empty mailbox, to which nothing else is on its way."""
    eventually(lambda: service.queued() == 0)
    mailpit_ports.request("DELETE", "/api/v1/messages")
    yield mailpit_ports
    mailpit_ports.request("DELETE", "/api/v1/messages")


@pytest.fixture(scope="package")
def ports(service: Service) -> Ports:
    """The ports of the service that clients use, and the authority to trust."""
    address = json.loads((service.data_dir / "service.json").read_text())
    return Ports(
        api_tls=address["api_tls_port"],
        smtp=address["smtp_port"],
        smtp_tls=address["smtp_tls_port"],
        authority=address["authority"],
    )


@pytest.fixture(scope="package")
def node_programs() -> Path:
    """The folder of the Node.js programs, with the packages of ``package-lock.json``."""
    return install(Path(__file__).parent / "node")


@pytest.fixture(scope="package")
def template(service: Service) -> str:
    """The id of a template with a link, which greets by ``name`` and signs as ``shop``."""
    body = {
        "id": "for-clients",
        "published": True,
        "content": {
            "from": "ann@example.test",
            "subject": "Dear {{name}}",
            "html": '<p>{{shop}} <a href="https://shop.example/">shop</a></p>',
            "text": "From {{shop}}",
        },
    }
    response = service.request("POST", "/api/v1/templates", body)
    assert response.status == 200, response.body
    return "for-clients"
