from __future__ import annotations

import botocore.session
import pytest
from ministack.core import responses

from infrastructure.local.cloud import wire_protocols

TYPES = ("application/json", "application/x-amz-json-1.0", "application/xml", "text/xml")


@pytest.mark.parametrize("service", wire_protocols.METADATA)
def test_services_speak_the_protocols_that_botocore_knows(service: str) -> None:
    metadata = botocore.session.get_session().get_service_model(service).metadata
    expected = {name: metadata.get(name) for name in ("protocol", "jsonVersion")}
    constant = wire_protocols.METADATA[service]
    assert {name: constant.get(name) for name in expected} == expected


@pytest.mark.parametrize("service", [*wire_protocols.METADATA, "sns"])
def test_content_types_stay_as_they_are(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [expected_types(service, each) for each in TYPES]
    monkeypatch.setattr(responses, "_service_model", responses._service_model)
    wire_protocols.install()
    assert [expected_types(service, each) for each in TYPES] == before


def expected_types(service: str, emitted: str) -> tuple[str | None, str | None]:
    return (
        responses.expected_error_content_type(service, emitted),
        responses.expected_success_content_type(service, emitted),
    )
