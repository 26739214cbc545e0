"""Start each mail server once, when a test needs it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.free_ports import free_port
from tests.mail_servers.certificates import make_certificates
from tests.mail_servers.haraka_server import run_haraka
from tests.mail_servers.others import Server, run_dovecot, run_exim, run_opensmtpd
from tests.mail_servers.policy import Greylist, greylist
from tests.mail_servers.postfix import Postfix, run_postfix


@pytest.fixture(scope="session")
def greylisting() -> Iterator[Greylist]:
    with greylist() as service:
        yield service


@pytest.fixture(scope="session")
def postfix_folder() -> Iterator[Path]:
    """A folder with the certificates in `etc`; Postfix wants a short path."""
    with tempfile.TemporaryDirectory() as path:
        etc = Path(path) / "etc"
        etc.mkdir()
        make_certificates(etc)
        yield Path(path)


@pytest.fixture(scope="session")
def postgrey_port() -> int:
    return free_port()


@pytest.fixture(scope="session")
def postfix(postfix_folder: Path, greylisting: Greylist, postgrey_port: int) -> Iterator[Postfix]:
    if shutil.which("postfix") is None:
        pytest.skip("postfix is not installed (apt-get install postfix)")
    if os.geteuid():
        pytest.skip("Postfix starts only as root")
    ports = {"policy": greylisting.port, "postgrey": postgrey_port}
    with run_postfix(postfix_folder, **ports) as server:
        yield server


@pytest.fixture(scope="session")
def exim(postfix_folder: Path) -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        with run_exim(Path(folder), postfix_folder / "etc") as server:
            yield server


@pytest.fixture(scope="session")
def opensmtpd() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        with run_opensmtpd(Path(folder)) as server:
            yield server


@pytest.fixture(scope="session")
def haraka(postfix_folder: Path) -> Iterator[Server]:
    with (
        tempfile.TemporaryDirectory() as folder,
        run_haraka(Path(folder), postfix_folder / "etc") as server,
    ):
        yield server


@pytest.fixture(scope="session")
def dovecot(postfix: Postfix) -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        with run_dovecot(Path(folder), postfix.ports["all extensions"]) as server:
            yield server
