"""The systemd unit is hardened, and the service works under what it denies."""

from __future__ import annotations

import os
import re
import shutil
import smtplib
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journey.service import eventually
from tests.machine import confined
from tests.machine.machine import KEY, Machine
from tests.machine.outside import Outside

MOST_EXPOSURE = 2.5

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


def can_confine() -> bool:
    """Tell whether this user may make name spaces of mounts, as root in a container may not."""
    if os.geteuid() != 0 or not shutil.which("setpriv") or not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", "-m", "true"], check=False).returncode == 0


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    path = tmp_path / "postfinch.service"
    command = [sys.executable, "-m", "postfinch", "service"]
    environ = {name: text for name, text in os.environ.items() if name != "DATA_DIR"}
    path.write_bytes(subprocess.run(command, env=environ, capture_output=True, check=True).stdout)
    return path


@needs_systemd
def test_systemd_calls_the_exposure_of_the_unit_small(unit: Path) -> None:
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    exposure = re.search(r"Overall exposure level for \S+: ([\d.]+)", output)
    assert exposure, output
    assert float(exposure[1]) <= MOST_EXPOSURE


@needs_systemd
def test_systemd_understands_every_line_of_the_unit(unit: Path) -> None:
    command = ["systemd-analyze", "verify", "--man=no", str(unit)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert str(unit) not in result.stderr + result.stdout


@pytest.fixture
def confined_machine(unit: Path, place: Outside, tmp_path: Path) -> Iterator[Machine]:
    """A service that can write to its data only."""
    machine = Machine(tmp_path, **place.environment())
    machine.data_dir.mkdir()
    machine.ports["SUBMISSION_PORT"] = 587
    machine.wrapper = (
        *("unshare", "-m", "--propagation", "private", sys.executable, confined.__file__, "mounts"),
        *(str(unit), str(machine.data_dir)),
    )
    with machine:
        yield machine


@needs_systemd
@pytest.mark.skipif(not can_confine(), reason="needs root and name spaces of mounts")
def test_the_service_works_under_what_the_unit_denies(
    confined_machine: Machine, place: Outside
) -> None:
    machine = confined_machine
    machine.add_domain(place.zone)
    machine.send("dan@reader.example")
    eventually(lambda: place.messages("dan@reader.example"))
    context = ssl.create_default_context(
        cafile=str(machine.data_dir / "tls/service/certificate.pem")
    )
    context.check_hostname = False
    with smtplib.SMTP("127.0.0.1", 587, timeout=60) as relay:
        relay.starttls(context=context)
        relay.login("SMTP_Injection", KEY)
        text = "From: hello@acme.example\r\nTo: eve@reader.example\r\nSubject: Hi\r\n\r\nHi\r\n"
        relay.sendmail("hello@acme.example", ["eve@reader.example"], text)
    eventually(lambda: place.messages("eve@reader.example"))
    eventually(lambda: machine.request("GET", "/ready", key=None).status == 200)
    assert not [line for line in machine.lines() if line["level"] == "ERROR"]
    for process in machine.family():
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert "NoNewPrivs:\t1\n" in status
        assert "CapBnd:\t0000000000000400\n" in status
    root = Path(f"/proc/{machine.family()[-1].pid}/root")
    with pytest.raises(OSError, match="Read-only"):
        (root / machine.folder.relative_to("/") / "new").touch()
