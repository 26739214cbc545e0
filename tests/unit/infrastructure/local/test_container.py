from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from infrastructure.local import container
from tests.unit.infrastructure.clouds import ROOT

# The service is replaced by one that is stopped while it is being imported
STOPPED_EARLY = """
import os, signal, sys, time, types
from infrastructure.local import container
def main(arguments):
    assert arguments == []
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(600)
sys.modules["infrastructure.local.run"] = types.SimpleNamespace(main=main)
container.main()
"""


def test_a_stop_before_the_supervisor_has_its_handlers_ends_with_status_zero() -> None:
    command = [sys.executable, "-c", STOPPED_EARLY]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (process.returncode, process.stderr) == (0, "")


# The service is replaced by one that writes its settings
WRITES_SETTINGS = """
import json, os, sys, types
from infrastructure.local import container
def main(*arguments):
    print(json.dumps(dict(os.environ)))
    return 0
for name in ("infrastructure.machine.serve", "infrastructure.local.run"):
    sys.modules[name] = types.SimpleNamespace(main=main)
container.main()
"""


def environment_of(*command: str, **environ: str) -> dict[str, str]:
    process = subprocess.run(
        [sys.executable, "-c", WRITES_SETTINGS, *command],
        cwd=ROOT,
        env={"SYSTEM_DOMAIN": "mail.acme.example", "POSTFINCH_CONFIG": "/dev/null", **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    values: dict[str, str] = json.loads(process.stdout.splitlines()[-1])
    return values


def test_production_listens_above_1024_and_on_every_address() -> None:
    values = environment_of("serve")
    assert values["HTTPS_PORT"] == "8443"
    assert values["PUBLIC_URL"] == "https://mail.acme.example"
    assert "RELAY_HOST" not in values


def test_the_local_service_keeps_its_own_ports() -> None:
    values = environment_of("run")
    assert values["RELAY_HOST"] == "0.0.0.0"
    assert "HTTPS_PORT" not in values
    assert environment_of("run", RELAY_HOST="127.0.0.1")["RELAY_HOST"] == "127.0.0.1"


def test_a_setting_that_cannot_be_is_left_to_the_service() -> None:
    assert environment_of("serve", TLS="none")["TLS"] == "none"


def test_flags_of_mailpits_image_start_the_service() -> None:
    values = environment_of("--smtp-auth-accept-any", "--max", "500")
    assert values["MP_SMTP_AUTH_ACCEPT_ANY"] == "true"
    assert values["MP_MAX_MESSAGES"] == "500"
    assert values["RELAY_HOST"] == "0.0.0.0"


def test_a_flag_that_is_none_of_mailpits_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["postfinch", "-x"])
    assert container.main() == 2
    assert capsys.readouterr().err == "postfinch: '-x' is no flag of Mailpit\n"


def test_the_volume_of_a_mailpit_that_cannot_be_written_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    container._keep_mail_where_it_can_be(os.environ)
    assert (os.environ["DATA_DIR"], capsys.readouterr().out) == (str(tmp_path), "")
    monkeypatch.setenv("MP_DATABASE", "/data/mailpit.db")
    container._keep_mail_where_it_can_be(os.environ)
    assert os.environ["DATA_DIR"] == "/tmp/postfinch"
    assert f"Another user owns {tmp_path}" in capsys.readouterr().out
