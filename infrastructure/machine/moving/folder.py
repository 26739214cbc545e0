"""Open the data folder of a service on one machine, which runs or is stopped.

The cloud of a service that runs is used as it is. For a stopped one the cloud is started alone, and
the folder is taken meanwhile, so that the service cannot start.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import boto3

from chalicelib.core.sealing import Sealer, key_of
from chalicelib.core.settings import local_values
from infrastructure.local.supervisor import probes
from infrastructure.local.supervisor.child import die_with_parent
from infrastructure.local.supervisor.cloud_access import (
    ACCESS_KEY_ID,
    REGION,
    aws_environment,
    draw_secret,
    read_secret,
)
from infrastructure.local.supervisor.data_folder import (
    ConfigError,
    open_folder,
    stored_secret_key,
    take,
)
from infrastructure.local.supervisor.ports import InternalPorts, NotRunning
from infrastructure.local.supervisor.private_files import replace_private
from infrastructure.machine.configuration import STAGE
from infrastructure.machine.moving.failures import MoveRefused
from infrastructure.machine.moving.place import CLIENT_OPTIONS, Place

ROOT = Path(__file__).resolve().parents[3]
# Stages of a folder: the service's own one, or that of `postfinch run`
_STAGES = (STAGE, local_values()["STAGE"])
_STATE = Path("cloud", "state.sqlite3")
_SECRET, _API_KEY = "secret.key", "api_key"
_PATIENCE = 60.0


class Folder(Place):
    """The service of a data folder; its cloud is at ``url``, whose requests ``secret`` signs.

    ``secret_key`` is the service's ``SECRET_KEY`` if it is not the one that is kept in the folder.
    """

    makes_first_start = True

    def __init__(
        self, data_dir: Path, url: str, secret: str, *, is_idle: bool, secret_key: str = ""
    ) -> None:
        session: Any = boto3.session.Session(
            aws_access_key_id=ACCESS_KEY_ID,
            aws_secret_access_key=secret,
            region_name=REGION,
        )
        self.name = str(data_dir)
        self.is_idle = is_idle
        self.dynamodb, self.s3, self.sqs = (
            session.client(service, endpoint_url=url, config=CLIENT_OPTIONS)
            for service in ("dynamodb", "s3", "sqs")
        )
        self.stage = self._find_stage()
        self.bucket = f"postfinch-{self.stage}"
        self._data_dir = data_dir
        self._secret_key = secret_key

    def _find_stage(self) -> str:
        """Return the stage that the folder has tables of, or else that of production."""
        names = self.dynamodb.list_tables()["TableNames"]
        return next((each for each in _STAGES if f"postfinch-{each}-config" in names), STAGE)

    @property
    def secret_key(self) -> str:
        """``SECRET_KEY`` of the service."""
        return self._secret_key or stored_secret_key(self._data_dir / _SECRET)

    @property
    def sealer(self) -> Sealer:
        """What seals secrets in the folder."""
        return Sealer(key_of(self.secret_key))

    def adopt(self, source: Place) -> None:
        """Take the source's ``SECRET_KEY``, and from another folder the key of its first account.

        A service that runs has read both at its start.
        """
        if self.secret_key == source.secret_key:
            return
        if not self.is_idle:
            raise MoveRefused(
                f"stop the service on {self.name}: it gets another SECRET_KEY, which it reads at "
                "its start"
            )
        if isinstance(source, Folder) and (api_key := source.api_key):
            replace_private(self._data_dir / _API_KEY, api_key)
        replace_private(self._data_dir / _SECRET, source.secret_key)

    @property
    def api_key(self) -> str:
        """The key of the first account that is kept in the folder, empty if there is none."""
        with suppress(FileNotFoundError):
            return (self._data_dir / _API_KEY).read_text().strip()
        return ""


def has_data(text: str) -> bool:
    """Tell whether a folder has the data of a service."""
    return (Path(text).expanduser() / _STATE).exists()


@contextmanager
def opened(text: str, *, as_target: bool = False, secret_key: str = "") -> Iterator[Folder]:
    """Open a data folder; a target is made if need be. Raises :class:`MoveRefused`."""
    path = Path(text).expanduser().resolve()
    if not as_target and not has_data(text):
        raise MoveRefused(f"{path} has no data of a service")
    try:
        data_dir = open_folder(str(path))
        lock = take(data_dir)
    except ConfigError:
        yield _of_running(path, secret_key)
        return
    try:
        secret = draw_secret(data_dir)
        with _cloud(data_dir, secret) as url:
            place = Folder(data_dir, url, secret, is_idle=True, secret_key=secret_key)
            if as_target:
                environment = {**os.environ, **aws_environment(url, secret)}
                _provide_tables(environment | {"STAGE": place.stage, "BUCKET": ""})
            yield place
    finally:
        os.close(lock)


def _of_running(data_dir: Path, secret_key: str) -> Folder:
    try:
        ports = InternalPorts.of_running(data_dir)
        secret = read_secret(data_dir)
        return Folder(data_dir, ports.cloud_url, secret, is_idle=False, secret_key=secret_key)
    except (NotRunning, OSError):
        raise MoveRefused(
            f"{data_dir} cannot be used: another process has it, or it is not yours"
        ) from None


@contextmanager
def _cloud(data_dir: Path, secret: str) -> Iterator[str]:
    """Run the cloud of a folder alone; yield its address."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    arguments = ("--port", str(port), "--data", str(data_dir / "cloud"))
    parent = os.getpid()
    # This process may have threads by now: what runs before the program takes no lock
    process = subprocess.Popen(
        [sys.executable, "-m", "infrastructure.local.cloud", *arguments],
        cwd=ROOT,
        env={**os.environ, **aws_environment(url, secret)},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: die_with_parent(signal.SIGTERM, parent),
    )
    try:
        _wait_until_ready(process, port)
        yield url
    finally:
        process.terminate()
        process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not probes.answers_http(port, "/_ministack/health", (200,)):
        if process.poll() is not None or time.monotonic() > deadline:
            raise MoveRefused("the data of the folder cannot be opened; the reason is above")
        time.sleep(0.05)


def _provide_tables(environment: Mapping[str, str]) -> None:
    """Make the tables, queues and bucket of a target."""
    done = subprocess.run(
        [sys.executable, "-m", "infrastructure.provision"],
        cwd=ROOT,
        env=dict(environment),
        check=False,
    )
    if done.returncode:
        raise MoveRefused("the tables of the folder cannot be made; the reason is above")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
