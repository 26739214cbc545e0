"""Start production on data of version 0.1.0 while applications send, and lose nothing of both."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.journey.earlier_data import fill
from tests.journey.earlier_data.archive import unpack
from tests.journey.service import ROOT, eventually
from tests.machine.machine import Machine
from tests.machine.outside import Outside

CLOCK = Path(fill.__file__).parent / "clock"
#: When the retry and the transmission ``due`` of the earlier data are due
LATER_SECONDS = 45 * 60.0


def test_mail_of_an_earlier_version_goes_on_while_new_mail_comes_in(
    tmp_path: Path, place: Outside
) -> None:
    machine = Machine(tmp_path, **place.environment())
    machine.data_dir.mkdir()
    unpack(machine.data_dir)
    contents = json.loads((machine.data_dir / fill.CONTENTS).read_text())
    recipients = [f"load-{number}@reader.example" for number in range(60)]
    sender = threading.Thread(target=_send_all, args=(machine, recipients))
    sender.start()
    machine.start(
        module="infrastructure.machine.serve",
        # What the earlier version called its stage, and its keys
        STAGE="local",
        SECRET_KEY=fill.SECRET_KEY,
        API_KEY=fill.API_KEY,
        PYTHONPATH=str(CLOCK),
        CLOCK_OFFSET=str(contents["at"] + LATER_SECONDS - time.time()),
    )
    try:
        sender.join()
        for recipient in recipients:
            assert len(eventually(lambda each=recipient: place.messages(each))) == 1
        due = contents["ids"]["due"]
        eventually(lambda: _state(machine, due) == "Success")
        assert eventually(lambda: place.messages("defer@inbox.test"))
    finally:
        machine.stop()


def test_data_of_a_newer_version_is_refused_in_one_line(tmp_path: Path, place: Outside) -> None:
    with Machine(tmp_path, **place.environment()) as machine:
        pass
    database = machine.data_dir / "cloud" / "state.sqlite3"
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    process = subprocess.run(
        [sys.executable, "-m", "postfinch", "serve"],
        cwd=ROOT,
        env=machine.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 1
    (line,) = process.stdout.splitlines()
    assert "a newer version of Postfinch" in json.loads(line)["message"]


def _send_all(machine: Machine, recipients: list[str]) -> None:
    """Send to each recipient, again and again until the service has answered."""
    for recipient in recipients:
        eventually(lambda each=recipient: _sends(machine, each))


def _sends(machine: Machine, recipient: str) -> bool:
    content = {"from": "a@example.test", "subject": "New", "text": "Hello"}
    body = {"recipients": [{"address": recipient}], "content": content}
    headers = {"Idempotency-Key": recipient.partition("@")[0]}
    try:
        response = machine.request(
            "POST", "/api/v1/transmissions", body, key=fill.API_KEY, headers=headers
        )
    except OSError:
        return False
    return response.status == 200


def _state(machine: Machine, transmission: str) -> str:
    response = machine.request("GET", f"/api/v1/transmissions/{transmission}", key=fill.API_KEY)
    state: str = response.json["results"]["transmission"]["state"]
    return state
