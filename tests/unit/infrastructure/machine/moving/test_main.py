"""Move between folders, each with a local cloud of its own in a process."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from chalicelib.core.dynamo.codec import encode_item
from chalicelib.core.sealing import Sealer, key_of
from infrastructure.machine.moving import __main__ as command
from infrastructure.machine.moving import folder
from infrastructure.machine.moving.failures import MoveRefused
from infrastructure.machine.moving.folder import Folder
from tests.unit.infrastructure.clouds import ROOT, eventually

ITEMS = 3000


@pytest.fixture(autouse=True)
def no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each folder have a secret of its own."""
    monkeypatch.delenv("SECRET_KEY")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The folder of a stopped service with a webhook and many events."""
    path = tmp_path / "source"
    with folder.opened(str(path), as_target=True) as place:
        (path / "api_key").write_text("first-key")
        secret = place.sealer.seal(b"password", "webhook/w1")
        item = encode_item({"pk": "webhooks#1", "sk": "w1", "sealed": secret, "version": 1})
        place.dynamodb.put_item(TableName=place.table("config"), Item=item)
        keys = [{"pk": f"1#day#{number // 50}", "sk": str(number)} for number in range(ITEMS)]
        for start in range(0, ITEMS, 25):
            requests = [
                {"PutRequest": {"Item": encode_item(key | {"data": b"block"})}}
                for key in keys[start : start + 25]
            ]
            place.dynamodb.batch_write_item(RequestItems={place.table("events"): requests})
    return path


def arguments(source: Path, target: Path, *options: str) -> list[str]:
    other = json.dumps({"name": "other", "data_dir": str(target)})
    return ["--data-dir", str(source), "--direction", "to", "--other", other, *options]


def number_of_events(place: Folder) -> int:
    return sum(len(page.items) for page in place.pages("events"))


def test_a_move_that_is_killed_goes_on(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    checkpoint = source / "move" / "other.sqlite3"
    process = subprocess.Popen(
        [sys.executable, "-m", "infrastructure.machine.moving", *arguments(source, target)],
        cwd=ROOT,
    )
    eventually(lambda: checkpoint.exists() and copies(checkpoint) > 0)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert copies(checkpoint) < ITEMS
    assert eventually(lambda: command.main(arguments(source, target)) == 0)
    with folder.opened(str(target)) as place:
        assert number_of_events(place) == ITEMS
        item = place.get("config", "webhooks#1", "w1")
        assert item is not None
        assert place.sealer.open(item["sealed"]["B"], "webhook/w1") == b"password"
    for name in ("secret.key", "api_key"):
        assert (target / name).read_text() == (source / name).read_text()


def copies(checkpoint: Path) -> int:
    try:
        with sqlite3.connect(f"file:{checkpoint}?mode=ro", uri=True) as database:
            return int(database.execute("SELECT COUNT(*) FROM copies").fetchone()[0])
    except sqlite3.OperationalError:  # it is being made
        return 0


def test_a_check_writes_nothing_and_makes_no_folder(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(arguments(source, tmp_path / "target", "--check")) == 0
    said = capsys.readouterr().out
    assert f"events               {ITEMS:,}" in said
    assert "has no data yet" in said
    assert not (tmp_path / "target").exists()
    assert not (source / "move").exists()


def test_a_folder_without_data_is_refused_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert command.main(arguments(tmp_path / "none", tmp_path / "target")) == 2
    assert capfd.readouterr().err == f"postfinch: {tmp_path}/none has no data of a service\n"
    assert not (tmp_path / "none").exists()


def test_a_service_that_runs_on_another_secret_is_not_overwritten(tmp_path: Path) -> None:
    with (
        folder.opened(str(tmp_path / "a"), as_target=True) as one,
        folder.opened(str(tmp_path / "b"), as_target=True) as other,
    ):
        secret = other.secret_key
        other.is_idle = False
        with pytest.raises(MoveRefused, match="stop the service"):
            other.adopt(one)
        assert other.secret_key == secret
        other.is_idle = True
        other.adopt(one)
        assert other.secret_key == one.secret_key
        other.is_idle = False
        other.adopt(one)  # it has that secret already


def test_the_secret_of_the_environment_comes_before_that_of_the_folder(tmp_path: Path) -> None:
    secret = "C" * 43 + "="
    with folder.opened(str(tmp_path), as_target=True, secret_key=secret) as place:
        assert place.secret_key == secret
        assert place.sealer == Sealer(key_of(secret))
