"""Lose a machine that Litestream copies, with the scripts of the documentation."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.backup_load import Load, recorded_recipients
from tests.journey.service import ROOT, Service, eventually
from tests.journey.test_backup_drill import (
    ENVIRONMENT,
    arrivals,
    delivered,
    kill,
)

PAGE = (ROOT / "docs" / "backups.md").read_text(encoding="utf-8")
PROGRAMS = Path(sys.executable).parent
needs_rsync = pytest.mark.skipif(
    shutil.which("rsync") is None, reason="rsync is not installed (apt-get install rsync)"
)


def examples(heading: str) -> dict[str, str]:
    """Return the examples below a heading of the page by the first word of each."""
    section = PAGE.partition(f"### {heading}\n")[2].partition("\n### ")[0]
    texts = re.findall(r"^```\w+\n(.+?)^```$", section, re.DOTALL | re.MULTILINE)
    return {text.split()[0]: text for text in texts}


@contextmanager
def running(*command: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program within the block, and kill it after that with what it has started."""
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, 9)
        process.wait()


def last_round(copies: Path) -> datetime:
    """Return when the last complete round of the script began."""
    complete = copies / "complete"
    if not complete.exists():
        return datetime.min.replace(tzinfo=UTC)
    return datetime.fromisoformat(complete.read_text().strip())


def last_change(copies: Path) -> datetime:
    """Return when the last change that Litestream has copied was made."""
    times = [file.stat().st_mtime for file in copies.glob("litestream/**/*.ltx")]
    return datetime.fromtimestamp(max(times, default=0), UTC)


def replicate(data_dir: Path) -> tuple[str, ...]:
    """Write Litestream's configuration, and return the command that copies the database."""
    configuration = data_dir / "litestream.yml"
    configuration.write_text(examples("To a folder")["dbs:"])
    return ("litestream", "replicate", "-config", str(configuration))


def environment_of(data_dir: Path, copies: Path) -> dict[str, str]:
    """Return the environment of the documentation's commands."""
    path = f"{PROGRAMS}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "DATA_DIR": str(data_dir), "COPIES": str(copies)}


def run(script: str, environment: dict[str, str]) -> None:
    process = subprocess.run(
        ["sh", "-ec", script],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr


def test_a_database_that_nobody_changed_since_the_last_round_is_restored(tmp_path: Path) -> None:
    data_dir, copies = tmp_path / "data", tmp_path / "copies"
    for folder in (data_dir / "cloud", copies / "cloud"):
        folder.mkdir(parents=True)
    environment = environment_of(data_dir, copies)
    with sqlite3.connect(data_dir / "cloud" / "state.sqlite3") as database:
        database.executescript("PRAGMA journal_mode=WAL; CREATE TABLE messages (id TEXT)")
        with running(*replicate(data_dir), environment=environment):
            database.execute("INSERT INTO messages VALUES ('an id')")
            database.commit()
            eventually(lambda: last_change(copies).timestamp() > 0)
            assert eventually(lambda: restored(copies, environment)) == [("an id",)]


def restored(copies: Path, environment: dict[str, str]) -> list[tuple[str]]:
    """Restore a copy whose last round began after the last change, and return the messages."""
    after = last_change(copies) + timedelta(seconds=1)
    (copies / "complete").write_text(after.isoformat(timespec="seconds"))
    restoration = examples("To a folder")["restore()"]
    state = copies / "cloud" / "state.sqlite3"
    state.unlink(missing_ok=True)
    run(
        "\n".join(line for line in restoration.splitlines() if "postfinch" not in line), environment
    )
    with sqlite3.connect(state) as database:
        return database.execute("SELECT id FROM messages").fetchall()


@needs_rsync
def test_what_was_answered_before_the_last_round_is_there_after_the_machine_is_lost(
    tmp_path: Path, elsewhere: Service
) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    texts = examples("To a folder")
    script = tmp_path / "copy-files.sh"
    script.write_text(texts["#!/bin/sh"].replace("sleep 10", "sleep 0.5"))
    environment = environment_of(tmp_path, copies)
    machine = Service(tmp_path)
    machine.start(**ENVIRONMENT)
    load = Load(lambda recipients, text: machine.send(*recipients, text=text))
    with running(*replicate(tmp_path), environment=environment), load.running():
        with running("sh", str(script), environment=environment):
            load.wait_for(60)
            answers = dict(load.answers)
            enough = datetime.now(UTC) + timedelta(seconds=2)
            eventually(lambda: last_round(copies) > enough)
            load.wait_for(len(load.answers) + 5)
        eventually(lambda: last_change(copies) > last_round(copies))
        kill(machine)
    run(
        re.sub("^postfinch ", f"{sys.executable} -m postfinch ", texts["restore()"], flags=re.M),
        {**environment, "DATA_DIR": str(elsewhere.data_dir)},
    )
    recorded = recorded_recipients(elsewhere.data_dir, load.answers)
    elsewhere.start(**ENVIRONMENT)
    before = {recipient for recipients in answers.values() for recipient in recipients}
    assert len(before) > 300
    assert any((elsewhere.data_dir / "cloud" / "objects").rglob("*/*"))
    eventually(lambda: before <= delivered(elsewhere).keys())
    eventually(lambda: not elsewhere.queued())
    assert elsewhere.dead_letters() == 0
    messages = arrivals(elsewhere)
    assert before - arrivals(machine).keys() <= messages.keys()
    assert recorded
    assert not messages.keys() & recorded
