"""Start, stop, restart and kill the service: accepted mail survives and no process stays."""

from __future__ import annotations

import random
import socket
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.journey.programs import needs_swaks
from tests.journey.service import KEY, Service, eventually


def test_state_survives_a_restart(own_service: Service) -> None:
    own_service.start()
    own_service.send("before@inbox.test")
    eventually(lambda: own_service.event_types("before@inbox.test") == ["injection", "delivery"])
    own_service.stop()
    own_service.start()
    assert own_service.event_types("before@inbox.test") == ["injection", "delivery"]
    assert len(own_service.mailbox(to="before@inbox.test")) == 1
    own_service.send("after@inbox.test")
    own_service.arrived("after@inbox.test")


def test_every_process_is_gone_within_ten_seconds_of_sigterm(own_service: Service) -> None:
    own_service.start()
    assert len(own_service.family()) > 6
    assert own_service.stop() < 10


def test_a_killed_service_loses_at_most_its_last_seconds(own_service: Service) -> None:
    own_service.start()
    own_service.send("kept@inbox.test")
    eventually(lambda: own_service.event_types("kept@inbox.test") == ["injection", "delivery"])
    _let_snapshots_pass(own_service, 2)
    for process in own_service.family():
        process.kill()
    assert own_service.process is not None
    own_service.process.wait()
    own_service.start()
    assert own_service.event_types("kept@inbox.test") == ["injection", "delivery"]
    own_service.send("again@inbox.test")
    own_service.arrived("again@inbox.test")


def _let_snapshots_pass(service: Service, count: int) -> None:
    """Send mail until the local cloud has saved its state ``count`` times."""
    current = service.data_dir / "cloud" / "state" / "current"
    for _ in range(count):
        before = current.readlink() if current.is_symlink() else None
        service.send("later@inbox.test")
        eventually(lambda before=before: current.is_symlink() and current.readlink() != before)


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
    count = 2000
    recipients = [f"kill-{i}@inbox.test" for i in range(count)]
    own_service.send(*recipients, html="<p>" + "x" * 5000 + "</p>")
    rng = random.Random(20261120)
    for step in range(1, kills + 1):
        goal = count * step // (kills + 2)
        eventually(lambda goal=goal: _arrivals(own_service) >= goal, 60)
        rng.choice(own_service.workers()).kill()
    eventually(lambda: len(_arrived_counts(own_service)) == count, 90)
    eventually(lambda: _total(own_service, "delivery") == count, 60)
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
        timeout=30,
    )
    assert process.returncode == 0, process.stdout
    service.arrived("swaks@inbox.test")


def test_a_taken_port_is_reported_in_one_line(own_service: Service) -> None:
    with socket.create_server(("127.0.0.1", own_service.api_port)):
        with pytest.raises(AssertionError, match="it ended") as failure:
            own_service.start()
        assert str(own_service.api_port) in str(failure.value)
        assert "Traceback" not in str(failure.value)
