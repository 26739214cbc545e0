"""Try the delivery container on this machine, where the local mailbox is everyone's mail host."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journey.service import Service, eventually


@pytest.fixture
def container(own_service: Service) -> Service:
    own_service.start(DELIVERY="container", TRANSPORT="mx")
    return own_service


def _groups(service: Service) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = service.request("GET", "/api/v1/delivery-queue").json["results"]
    return results


def test_a_container_delivers_to_the_hosts_that_the_dns_names(container: Service) -> None:
    container.send("ann@example.test")
    assert container.arrived("ann@example.test")
    container.send("bounce-hard@example.test")
    eventually(lambda: container.event_types("bounce-hard@example.test") == ["injection", "bounce"])
    (bounce,) = container.events(recipients="bounce-hard@example.test", events="bounce")
    assert "[internal]" not in bounce["raw_reason"]


def test_mail_outlives_the_containers_processes(container: Service) -> None:
    for process in container.running("delivery"):
        process.kill()
    container.send("bea@example.test")
    assert container.arrived("bea@example.test")


def test_what_waits_for_a_limit_is_on_the_queue_page_and_arrives(container: Service) -> None:
    # The mail hosts of all sending domains are the service's own
    container.operate("set-provider-limits", "postfinch.test", "--per-second", "2")
    recipients = [f"r{number}@example.test" for number in range(40)]
    container.send(*recipients)
    (group,) = eventually(lambda: _groups(container))
    assert (group["group"], group["messages_per_second"]) == ("postfinch.test", 2.0)
    assert 0 < group["waiting"] < 40
    container.operate("remove-provider-limits", "postfinch.test")
    for recipient in recipients:
        assert container.arrived(recipient)
    eventually(lambda: not _groups(container))
    (delay,) = container.events(recipients=recipients[-1], events="delay")
    assert "2 messages a second may leave for postfinch.test" in delay["raw_reason"]
