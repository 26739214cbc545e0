"""Lose a machine, and let its mail go on elsewhere from a backup when the operator says so."""

from __future__ import annotations

import email
import os
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.journey.service import ROOT, Service, eventually

ENVIRONMENT = {"LOCAL_DURABILITY": "answer", "DELIVERY": "container", "TRANSPORT": "mx"}


def postfinch(*arguments: str, **environment: str) -> str:
    """Run the command and return what it prints."""
    process = subprocess.run(
        [sys.executable, "-m", "postfinch", *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def kill(service: Service) -> None:
    """Kill all processes of a service at once."""
    for process in service.family():
        process.kill()
    service.wait()


def arrivals(service: Service) -> Counter[str]:
    """Return how many messages each recipient has in the mailbox, whether or not it runs."""
    recipients: Counter[str] = Counter()
    for path in (service.data_dir / "mail" / "new").iterdir():
        recipients[email.message_from_bytes(path.read_bytes())["To"]] += 1
    return recipients


def delivered(service: Service) -> Counter[str]:
    """Return how many delivery events each recipient has."""
    recipients: Counter[str] = Counter()
    path = "/api/v1/events/message?events=delivery&per_page=1000"
    while path:
        response = service.request("GET", path)
        if response.status != 200:
            break
        recipients.update(event["rcpt_to"] for event in response.json["results"])
        path = response.json.get("links", {}).get("next", "")
    return recipients


def test_mail_that_was_under_way_waits_until_the_operator_lets_it_go_on(
    tmp_path: Path, elsewhere: Service
) -> None:
    machine = Service(tmp_path)
    machine.start(**ENVIRONMENT)
    machine.operate("set-provider-limits", "postfinch.test", "--per-second", "2")
    recipients = [f"held-{number}@example.test" for number in range(20)]
    machine.send(*recipients)
    start = datetime.now(UTC) + timedelta(seconds=5)
    response = machine.request(
        "POST",
        "/api/v1/transmissions",
        {
            "options": {"start_time": start.isoformat(timespec="seconds")},
            "recipients": [{"address": "later@example.test"}],
            "content": {"from": "hello@example.test", "subject": "Later", "text": "It is time"},
        },
    )
    assert response.status == 200, response.body
    eventually(lambda: len(arrivals(machine)) >= 3)
    kill(machine)
    path = tmp_path / "one.backup"
    postfinch("backup", str(path), "--data-dir", str(tmp_path))
    eventually(lambda: datetime.now(UTC) > start)
    postfinch("restore", str(path), "--data-dir", str(elsewhere.data_dir), "--hold")
    elsewhere.start(**ENVIRONMENT)
    elsewhere.send("new@example.test")
    eventually(lambda: arrivals(elsewhere))
    assert arrivals(elsewhere).keys() == {"new@example.test"}
    assert elsewhere.dead_letters() >= 2
    elsewhere.operate("redrive-dead-letters")
    expected = {*recipients, "later@example.test", "new@example.test"}
    eventually(lambda: delivered(elsewhere).keys() == expected)
    messages = arrivals(machine) + arrivals(elsewhere)
    assert messages.keys() == expected
    assert sum(messages.values()) - len(messages) <= 1
