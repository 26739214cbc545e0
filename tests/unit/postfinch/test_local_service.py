"""Commands find the service that runs, wherever its data directory is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from infrastructure.local import address_file
from postfinch import local_service, locations, profiles
from postfinch.local_service import LocalService, SeveralServices
from postfinch.profiles import NoProfile

ENDED = 2**22 + 1  # no process has this id


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user with folders of their own, whose checkout keeps its data below them."""
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("DATA_DIR", "POSTFINCH_URL", "POSTFINCH_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(locations, "service_root", lambda: tmp_path / "checkout")


def start(folder: Path, *, pid: int | None = None, is_listed: bool = True) -> None:
    """Write the files that a running service has; each service here is this process."""
    folder.mkdir(parents=True)
    service = LocalService(f"http://{folder.name}.test", "key", "localhost", 2525)
    address = {name: getattr(service, name) for name in LocalService.__slots__}
    address |= {"pid": pid or os.getpid()}
    (folder / local_service.ADDRESS_FILE).write_text(json.dumps(address))
    if is_listed:
        entry = locations.services_folder() / f"{folder.name}.txt"
        entry.parent.mkdir(parents=True, exist_ok=True)
        entry.write_text(str(folder))


def test_the_service_and_the_command_list_services_in_the_same_folder() -> None:
    assert address_file.services_folder() == locations.services_folder()


def test_the_only_service_that_runs_is_found(tmp_path: Path) -> None:
    start(tmp_path / "elsewhere")
    start(tmp_path / "ended", pid=ENDED)
    assert profiles.choose(None).url == "http://elsewhere.test"


def test_the_usual_folder_comes_before_others(tmp_path: Path) -> None:
    start(tmp_path / "elsewhere")
    start(locations.data_dir(), is_listed=False)
    assert local_service.running_folder() == locations.data_dir()


def test_a_folder_that_is_chosen_is_the_one_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(tmp_path / "elsewhere")
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "mine"))
    assert local_service.running_folder() == tmp_path / "mine"


def test_of_several_services_one_is_to_be_chosen(tmp_path: Path) -> None:
    start(tmp_path / "a")
    start(tmp_path / "b")
    with pytest.raises(SeveralServices):
        local_service.running_folder()
    with pytest.raises(NoProfile, match=f"DATA_DIR .{tmp_path / 'a'}, {tmp_path / 'b'}."):
        profiles.choose(None)


def test_without_a_service_the_usual_folder_is_named() -> None:
    with pytest.raises(NoProfile, match=r"checkout/\.local"):
        profiles.choose(None)
