"""Lose a machine that Litestream copies, with the scripts of the documentation."""

from __future__ import annotations

import os
import re
import shutil
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


@needs_rsync
def test_what_was_answered_before_the_last_round_is_there_after_the_machine_is_lost(
    tmp_path: Path, elsewhere: Service
) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    texts = examples("To a folder")
    configuration, script = tmp_path / "litestream.yml", tmp_path / "copy-files.sh"
    configuration.write_text(texts["dbs:"])
    script.write_text(texts["#!/bin/sh"].replace("sleep 10", "sleep 0.5"))
    environment = {
        **os.environ,
        "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
        "DATA_DIR": str(tmp_path),
        "COPIES": str(copies),
    }
    machine = Service(tmp_path)
    machine.start(**ENVIRONMENT)
    load = Load(lambda recipients, text: machine.send(*recipients, text=text))
    replicate = ("litestream", "replicate", "-config", str(configuration))
    with running(*replicate, environment=environment), load.running():
        with running("sh", str(script), environment=environment):
            load.wait_for(60)
            answers = dict(load.answers)
            enough = datetime.now(UTC) + timedelta(seconds=2)
            eventually(lambda: last_round(copies) > enough)
            load.wait_for(len(load.answers) + 5)
        kill(machine)
    restoration = re.sub(
        "^postfinch ", f"{sys.executable} -m postfinch ", texts["litestream"], flags=re.M
    )
    process = subprocess.run(
        ["sh", "-ec", restoration],
        cwd=ROOT,
        env={**environment, "DATA_DIR": str(elsewhere.data_dir)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
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
