"""Lose a machine under load, and go on elsewhere from a backup."""

from __future__ import annotations

import base64
import email
import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.journey.service import ROOT, Service, eventually

ENVIRONMENT = {"LOCAL_DURABILITY": "answer", "DELIVERY": "container", "TRANSPORT": "mx"}


#: Of a message that is an object of the bucket, as its size does not fit into a queue message
LONG_TEXT = base64.encodebytes(random.Random(39).randbytes(400_000)).decode()
PASSPHRASE = "a passphrase"


class Load:
    """Sends single messages and small campaigns one after the other, from a thread."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._is_over = threading.Event()
        #: Recipients of each transmission that was answered, by its id
        self.answers: dict[str, list[str]] = {}

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._send)
        thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            thread.join()

    def wait_for(self, count: int) -> None:
        """Return when so many transmissions were answered."""
        eventually(lambda: len(self.answers) >= count)

    def _send(self) -> None:
        number = 0
        while not self._is_over.is_set():
            number += 1
            size = 60 if number % 10 == 0 else 1
            recipients = [f"load-{number}-{place}@example.test" for place in range(size)]
            text = LONG_TEXT if number % 25 == 0 else "a short text"
            try:
                id = self._service.send(*recipients, text=text)
            except OSError:  # the machine is dead
                return
            self.answers[id] = recipients


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


def recorded_recipients(data_dir: Path, answers: dict[str, list[str]]) -> set[str]:
    """Return the recipients whose delivery the journals of a restored folder have."""
    recipients = set()
    for path in (data_dir / "journal").iterdir():
        id = path.stem.partition("-")[0]
        for line in path.read_text().splitlines():
            index, entry = json.loads(line)
            if entry["outcome"]["outcome"] == "delivered" and id in answers:
                recipients.add(answers[id][index])
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


def test_what_was_answered_before_the_backup_is_there_and_nothing_that_it_has_as_sent_goes_again(
    tmp_path: Path, elsewhere: Service
) -> None:
    machine = Service(tmp_path)
    machine.start(**ENVIRONMENT)
    load = Load(machine)
    path = tmp_path / "one.backup"
    with load.running():
        load.wait_for(120)
        answers_before = dict(load.answers)
        arrivals_before = arrivals(machine).keys()
        postfinch("backup", str(path), "--data-dir", str(tmp_path), BACKUP_PASSPHRASE=PASSPHRASE)
        load.wait_for(len(load.answers) + 20)
        kill(machine)
    postfinch(
        "restore",
        str(path),
        "--data-dir",
        str(elsewhere.data_dir),
        BACKUP_PASSPHRASE=PASSPHRASE,
    )
    recorded = recorded_recipients(elsewhere.data_dir, load.answers)
    elsewhere.start(**ENVIRONMENT)
    assert any((elsewhere.data_dir / "cloud" / "objects").rglob("*/*"))
    before = {recipient for recipients in answers_before.values() for recipient in recipients}
    assert len(before) > 700
    assert recorded
    eventually(lambda: before <= delivered(elsewhere).keys())
    eventually(lambda: not elsewhere.queued())
    assert elsewhere.dead_letters() == 0
    assert max(delivered(elsewhere).values()) == 1
    messages = arrivals(elsewhere)
    assert before - arrivals(machine).keys() <= messages.keys()
    assert not messages.keys() & recorded
    # Of what had arrived before, one message at most was not recorded yet
    assert len(arrivals_before) > 100
    assert len(messages.keys() & arrivals_before) <= 1
    assert set(messages.values()) <= {1}


def test_a_backup_of_a_dead_machine_goes_on_where_it_died(
    tmp_path: Path, elsewhere: Service
) -> None:
    machine = Service(tmp_path)
    machine.start(**ENVIRONMENT)
    load = Load(machine)
    with load.running():
        load.wait_for(120)
        kill(machine)
    path = tmp_path / "one.backup"
    postfinch("backup", str(path), "--data-dir", str(tmp_path))
    postfinch("restore", str(path), "--data-dir", str(elsewhere.data_dir))
    elsewhere.start(**ENVIRONMENT)
    recipients = {recipient for each in load.answers.values() for recipient in each}
    eventually(lambda: recipients <= delivered(elsewhere).keys())
    eventually(lambda: not elsewhere.queued())
    messages = arrivals(machine) + arrivals(elsewhere)
    assert recipients <= messages.keys()
    # Between a host's 250 and its record is one message at most, of each delivering process
    assert sum(messages.values()) - len(messages) <= 1


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
