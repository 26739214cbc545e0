"""The document of ``/local`` describes what the local runtime serves, and nothing else."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from openapi_spec_validator import validate

from infrastructure.docs import LOCAL_DESCRIPTION
from infrastructure.local.figures import RequestCounts
from infrastructure.local.gateway import description_endpoint, local_openapi
from infrastructure.local.gateway.__main__ import local_endpoints
from infrastructure.local.supervisor.ports import InternalPorts
from tests.unit.infrastructure.local.gateway.local_client import LocalClient


def test_every_operation_is_described(tmp_path: Path) -> None:
    (tmp_path / "ports.json").write_text(json.dumps(asdict(InternalPorts(1, 2, 3, 4, 5, 6, 7))))
    routes = local_endpoints(tmp_path, RequestCounts(), lambda: False).routes
    functions = {f"{route.method} {route.path}": route.operation for route in routes}
    assert set(functions) == set(local_openapi.ALL)
    for name, operation in functions.items():
        described, _ = local_openapi.ALL[name]
        assert getattr(operation, "__func__", operation) is described


def test_the_document_is_valid_and_every_operation_has_a_summary() -> None:
    document = local_openapi.document()
    validate(document)
    for path in document["paths"].values():
        for operation in path.values():
            assert operation["summary"]


def test_the_document_is_current_and_served() -> None:
    assert LOCAL_DESCRIPTION.read_text(encoding="utf-8") == local_openapi.page(), "run `make docs`"
    reply = LocalClient(description_endpoint.routes()).ask("GET", description_endpoint.PATH)
    assert reply.json == local_openapi.document()
