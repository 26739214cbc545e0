"""Start, stop, restart and kill the service: accepted mail survives and no process stays."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.journey.programs import needs_swaks
from tests.journey.service import KEY, Service, eventually


def test_state_survives_a_restart_and_every_process_is_gone_within_ten_seconds_of_sigterm(
    own_service: Service,
) -> None:
    own_service.start()
    own_service.send("before@inbox.test")
    eventually(lambda: own_service.event_types("before@inbox.test") == ["injection", "delivery"])
    assert len(own_service.family()) > 6
    assert own_service.stop() < 10
    own_service.start()
    assert own_service.event_types("before@inbox.test") == ["injection", "delivery"]
    assert len(own_service.mailbox(to="before@inbox.test")) == 1
    own_service.send("after@inbox.test")
    own_service.arrived("after@inbox.test")


def test_a_killed_service_loses_nothing(own_service: Service) -> None:
    own_service.start()
    own_service.send("kept@inbox.test")
    eventually(lambda: own_service.event_types("kept@inbox.test") == ["injection", "delivery"])
    own_service.send("last@inbox.test")
    for process in own_service.family():
        process.kill()
    assert own_service.process is not None
    own_service.process.wait()
    own_service.start()
    assert own_service.event_types("kept@inbox.test") == ["injection", "delivery"]
    own_service.arrived("last@inbox.test")
    own_service.send("again@inbox.test")
    own_service.arrived("again@inbox.test")


def test_a_killed_cloud_loses_no_message(own_service: Service) -> None:
    own_service.start()
    recipients = [f"kill-{i}@inbox.test" for i in range(400)]
    own_service.send(*recipients, html="<p>" + "x" * 5000 + "</p>")
    for share in (1, 2):
        goal = len(recipients) * share // 4
        eventually(lambda goal=goal: _arrivals(own_service) >= goal, 60)
        eventually(lambda: own_service.running("cloud"))[0].kill()
    eventually(lambda: len(_arrived_counts(own_service)) == len(recipients), 90)
    eventually(lambda: _total_or_none(own_service, "delivery") == len(recipients), 60)
    assert sum(_arrived_counts(own_service).values()) - len(recipients) <= 2
    assert _total(own_service, "injection") == len(recipients)
    assert _dead_letters(own_service) == ""


def test_two_instances_run_side_by_side(service: Service, own_service: Service) -> None:
    own_service.start()
    own_service.send("second@inbox.test")
    own_service.arrived("second@inbox.test")
    assert service.mailbox(to="second@inbox.test") == []


def test_a_second_instance_on_the_same_data_is_refused(service: Service, tmp_path: Path) -> None:
    rival = Service(tmp_path)
    with pytest.raises(AssertionError, match="it ended"):
        rival.start(DATA_DIR=str(service.data_dir))


@pytest.mark.parametrize("kills", [3])
def test_killed_workers_lose_no_message_and_repeat_at_most_one_each(
    own_service: Service, kills: int
) -> None:
    own_service.start()
    count = 1000
    recipients = [f"kill-{i}@inbox.test" for i in range(count)]
    own_service.send(*recipients, html="<p>" + "x" * 5000 + "</p>")
    rng = random.Random(20261120)
    for step in range(1, kills + 1):
        goal = count * step // (kills + 2)
        eventually(lambda goal=goal: _arrivals(own_service) >= goal)
        rng.choice(own_service.workers()).kill()
    eventually(lambda: len(_arrived_counts(own_service)) == count)
    eventually(lambda: _total(own_service, "delivery") == count)
    repeated = sum(_arrived_counts(own_service).values()) - count
    assert repeated <= kills
    assert _total(own_service, "injection") == count
    assert _total(own_service, "bounce") == 0


def _arrivals(service: Service) -> int:
    return len(service.mailbox(to="kill-*", limit="10000"))


def _arrived_counts(service: Service) -> Counter[str]:
    return Counter(message["to"] for message in service.mailbox(to="kill-*", limit="10000"))


def _total(service: Service, kind: str) -> int:
    response = service.request("GET", f"/api/v1/events/message?events={kind}&per_page=1")
    return response.json["total_count"]


def _dead_letters(service: Service) -> str:
    """Return what the operator's tool lists."""
    command = [sys.executable, "-m", "infrastructure.admin", "--local", "list-dead-letters"]
    environment = {**os.environ, "DATA_DIR": str(service.data_dir)}
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout.decode()


def _total_or_none(service: Service, kind: str) -> int | None:
    """Return the same, or nothing while the local cloud is being started again."""
    response = service.request("GET", f"/api/v1/events/message?events={kind}&per_page=1")
    return response.json["total_count"] if response.status == 200 else None


@pytest.mark.spec("5-r7")
@needs_swaks
def test_swaks_sends_through_the_relay(service: Service) -> None:
    process = subprocess.run(
        [
            "swaks",
            *("--server", "127.0.0.1", "--port", str(service.smtp_port)),
            *("--tls", "--auth", "LOGIN"),
            *("--auth-user", "SMTP_Injection", "--auth-password", KEY),
            *("--from", "hello@example.test", "--to", "swaks@inbox.test"),
            *("--h-Subject", "From swaks"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stdout
    service.arrived("swaks@inbox.test")


def test_a_taken_port_is_reported_in_one_line(own_service: Service) -> None:
    with socket.create_server(("127.0.0.1", own_service.api_port)):
        with pytest.raises(AssertionError, match="it ended") as failure:
            own_service.start()
        assert str(own_service.api_port) in str(failure.value)
        assert "Traceback" not in str(failure.value)
