"""Fill the disk of the local cloud, and damage what it has stored."""

from __future__ import annotations

import base64
import random
import resource
import smtplib

import pytest

from infrastructure.local.cloud import store
from tests.journey.service import KEY, Service, eventually

# Text that compression does not make much smaller
TEXT = base64.b64encode(random.Random(1).randbytes(75_000)).decode()
FULL = (1, resource.RLIM_INFINITY)
UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


def limit_files(service: Service, limit: tuple[int, int]) -> None:
    (cloud,) = service.running("cloud")
    resource.prlimit(cloud.pid, resource.RLIMIT_FSIZE, limit)


def status_of_send(service: Service, recipient: str) -> int:
    body = {
        "content": {"from": "hello@example.test", "subject": "S", "text": TEXT},
        "recipients": [{"address": recipient}],
    }
    return service.request("POST", "/api/v1/transmissions", body).status


def code_of_relay(service: Service) -> int:
    with smtplib.SMTP("127.0.0.1", service.smtp_port) as client:
        client.starttls()
        client.login("SMTP_Injection", KEY)
        client.mail("hello@example.test")
        client.rcpt("by-mail@inbox.test")
        return client.data(f"From: hello@example.test\r\nSubject: S\r\n\r\n{TEXT[:900]}\r\n")[0]


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="Linux limits another process")
def test_what_is_accepted_while_the_disk_fills_up_is_sent_and_the_rest_is_refused(
    own_service: Service,
) -> None:
    own_service.start()
    statuses = [status_of_send(own_service, f"disk-{number}@inbox.test") for number in range(5)]
    # Delivery is still under way
    limit_files(own_service, FULL)
    while statuses.count(503) < 2:
        statuses.append(status_of_send(own_service, f"disk-{len(statuses)}@inbox.test"))
        assert len(statuses) < 100
    assert set(statuses) == {200, 503}
    assert eventually(lambda: code_of_relay(own_service) == 451)
    limit_files(own_service, UNLIMITED)
    eventually(lambda: status_of_send(own_service, "disk-after@inbox.test") == 200)
    recipients = {f"disk-{n}@inbox.test" for n, status in enumerate(statuses) if status == 200}
    eventually(
        lambda: (
            recipients <= {each["to"] for each in own_service.mailbox(to="disk-*", limit="500")}
        ),
        90,
    )
    own_service.arrived("disk-after@inbox.test")


def test_a_damaged_state_stops_the_start_and_stays(own_service: Service) -> None:
    own_service.start()
    own_service.stop()
    database = own_service.data_dir / "cloud" / store.NAME
    content = database.read_bytes()
    # The first pages are in use; later ones may be free
    damaged = content[:8_192] + b"?" * 20_000 + content[28_192:]
    database.write_bytes(damaged)
    with pytest.raises(AssertionError, match="it ended"):
        own_service.start()
    assert own_service.process is not None
    assert own_service.process.wait() == 1
    output = (own_service.data_dir / "output.log").read_text().splitlines()
    assert [line for line in output if f"{database} is damaged (" in line]
    assert database.read_bytes() == damaged
