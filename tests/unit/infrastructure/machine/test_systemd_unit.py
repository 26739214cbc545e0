"""The unit has the folders, the user and the command of its machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.machine import config_file, systemd_unit
from infrastructure.machine.systemd_unit import Unit

COMMAND = "/opt/postfinch/bin/postfinch"


def lines(**more: object) -> list[str]:
    values: dict[str, object] = {
        "command": [COMMAND],
        "config": Path("/etc/postfinch/postfinch.toml"),
        "data_dir": Path("/var/lib/postfinch"),
        **more,
    }
    return Unit(**values).text().splitlines()  # type: ignore[arg-type]


def test_systemd_makes_the_usual_folder_and_nothing_else_is_writable() -> None:
    unit = lines()
    assert "StateDirectory=postfinch" in unit
    assert "ProtectSystem=strict" in unit
    assert "ProtectHome=yes" in unit
    assert not [line for line in unit if line.startswith("ReadWritePaths=")]


def test_other_folders_are_writable_by_name() -> None:
    unit = lines(data_dir=Path("/srv/mail data"), backup_dir=Path("/mnt/100%"))
    assert 'ReadWritePaths="/srv/mail data" /mnt/100%%' in unit
    assert not [line for line in unit if line.startswith("StateDirectory")]


def test_what_is_in_a_home_is_readable_there() -> None:
    assert "ProtectHome=read-only" in lines(command=["/home/ann/venv/bin/postfinch"])


def test_a_checkout_names_its_modules() -> None:
    unit = lines(command=["/usr/bin/python3", "-m", "postfinch"], path="/srv/postfinch")
    assert "Environment=PYTHONPATH=/srv/postfinch" in unit
    assert (
        "ExecStart=/usr/bin/python3 -m postfinch serve --config /etc/postfinch/postfinch.toml "
        "--data-dir /var/lib/postfinch"
    ) in unit


def test_the_unit_has_what_the_configuration_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "postfinch.toml"
    config_file.write(path, {"data_dir": "/srv/mail", "backup_dir": "/mnt/backups"})
    monkeypatch.setenv(config_file.VARIABLE, str(path))
    monkeypatch.delenv("DATA_DIR", raising=False)
    assert systemd_unit.main(["--user", "mail", "--", COMMAND]) == 0
    unit = capsys.readouterr().out.splitlines()
    assert "ReadWritePaths=/srv/mail /mnt/backups" in unit
    assert "User=mail" in unit
    assert f"ExecStart={COMMAND} serve --config {path} --data-dir /srv/mail" in unit
