"""Lose a machine under load, and go on elsewhere from a backup."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.machine.backup import layout
from tests.backup_load import Load, recorded_recipients
from tests.journey.service import eventually
from tests.machine.machine import Machine
from tests.machine.outside import Outside, outside

PASSPHRASE = "a passphrase"
# Messages between a host's 250 and its record: one, if the host answers within a quarter of a
# second. A host on a busy machine takes longer, and then each connection may have one
UNRECORDED = 8


@pytest.fixture
def internet() -> Iterator[Outside]:
    with outside() as running:
        yield running


@pytest.fixture
def lost(tmp_path: Path, internet: Outside) -> Iterator[Machine]:
    """The machine that a test kills."""
    folder = tmp_path / "lost"
    folder.mkdir()
    with Machine(folder, **internet.environment(), BACKUP_PASSPHRASE=PASSPHRASE) as machine:
        machine.add_domain(internet.zone)
        yield machine


@pytest.fixture
def new(tmp_path: Path, internet: Outside) -> Iterator[Machine]:
    """The machine that goes on; it does not run yet."""
    folder = tmp_path / "new"
    folder.mkdir()
    machine = Machine(folder, **internet.environment(), BACKUP_PASSPHRASE=PASSPHRASE)
    yield machine
    machine.stop()


def load_of(machine: Machine) -> Load:
    def send(recipients: list[str], text: str) -> str:
        body = {
            "recipients": [{"address": recipient} for recipient in recipients],
            "content": {"from": "hello@acme.example", "subject": "Hello", "text": text},
        }
        id: str = machine.results("POST", "/transmissions", body)["id"]
        return id

    return Load(send)


def run(machine: Machine, *arguments: str) -> None:
    process = machine.run(*arguments)
    assert process.returncode == 0, process.stderr


def delivered(machine: Machine) -> set[str]:
    """Return the recipients with a delivery event; none has two."""
    recipients: list[str] = []
    path = "/api/v1/events/message?events=delivery&per_page=1000&to=2100-01-01T00:00:00Z"
    while path:
        response = machine.request("GET", path)
        assert response.status == 200, response.body
        recipients += [event["rcpt_to"] for event in response.json["results"]]
        path = response.json.get("links", {}).get("next", "")
    assert len(recipients) == len(set(recipients))
    return set(recipients)


def has_no_work(machine: Machine) -> bool:
    database = sqlite3.connect(f"file:{machine.data_dir / layout.DATABASE}?mode=ro", uri=True)
    try:
        return not database.execute("SELECT COUNT(*) FROM messages").fetchone()[0]
    finally:
        database.close()


def test_what_was_answered_before_the_backup_is_there_and_nothing_that_it_has_as_sent_goes_again(
    lost: Machine, new: Machine, internet: Outside, tmp_path: Path
) -> None:
    load = load_of(lost)
    path = tmp_path / "one.backup"
    with load.running():
        load.wait_for(120)
        answers = dict(load.answers)
        arrivals = internet.counts().keys()
        run(lost, "backup", str(path))
        load.wait_for(len(load.answers) + 10)
        lost.kill()
    assert len(arrivals) > 100
    run(new, "restore", str(path))
    recorded = recorded_recipients(new.data_dir, load.answers)
    assert recorded
    assert any((new.data_dir / "cloud" / "objects").rglob("*/*"))
    new.start()
    before = {recipient for recipients in answers.values() for recipient in recipients}
    eventually(lambda: before <= delivered(new))
    eventually(lambda: has_no_work(new))
    counts = internet.counts()
    assert before <= counts.keys()
    assert {counts[recipient] for recipient in recorded} == {1}
    assert sum(counts[recipient] - 1 for recipient in arrivals) <= UNRECORDED


def test_a_backup_of_a_dead_machine_goes_on_where_it_died(
    lost: Machine, new: Machine, internet: Outside, tmp_path: Path
) -> None:
    load = load_of(lost)
    with load.running():
        load.wait_for(120)
        lost.kill()
    path = tmp_path / "one.backup"
    run(lost, "backup", str(path))
    run(new, "restore", str(path))
    recorded = recorded_recipients(new.data_dir, load.answers)
    assert recorded
    new.start()
    recipients = {recipient for each in load.answers.values() for recipient in each}
    eventually(lambda: recipients <= delivered(new))
    eventually(lambda: has_no_work(new))
    counts = internet.counts()
    assert recipients <= counts.keys()
    assert {counts[recipient] for recipient in recorded} == {1}
    assert sum(counts.values()) - len(counts) <= UNRECORDED


def test_a_running_machine_makes_the_backups_of_its_schedule(
    lost: Machine, new: Machine, tmp_path: Path
) -> None:
    lost.stop()
    directory = tmp_path / "backups"
    lost.start(BACKUP_DIR=str(directory))
    pattern = "postfinch-*Z.backup"
    (path,) = eventually(lambda: list(directory.glob(pattern)) if directory.exists() else [])
    run(new, "restore", str(path))
    new.start()
    assert [each["domain"] for each in new.results("GET", "/sending-domains")] == ["acme.example"]
