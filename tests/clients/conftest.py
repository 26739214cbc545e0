"""Start one service that all clients of others use, with the vendor's names and https."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.programs import Ports
from tests.journey.service import Service
from tests.node_packages import install


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with ``VENDOR_ALIAS``, whose responses and webhooks are those of the vendor."""
    running = Service(tmp_path_factory.mktemp("clients"))
    running.start(VENDOR_ALIAS="true")
    yield running
    running.stop()


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
