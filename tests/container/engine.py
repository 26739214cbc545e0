"""Run podman and buildah without a daemon, with storage that is removed after the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.journey.service import eventually

ROOT = Path(__file__).parents[2]
PROGRAMS = ("podman", "buildah", "runc", "mmdebstrap")
BASE = "localhost/postfinch-base"
PYTHON = "3.11"
_MIRROR = "http://deb.debian.org/debian"
_EXCLUDED_FOLDERS = ("doc", "locale", "man")
_SOURCES = ("localstack-client==",)
_TIMEOUT_SECONDS = 600.0
_NETWORK_PROGRAMS = (
    "/usr/lib/podman/netavark",
    "/usr/libexec/podman/netavark",
    "/usr/lib/cni/bridge",
    "/opt/cni/bin/bridge",
)
_FREE_BYTES = 4 * 1024**3
_LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")


class NoBaseImage(RuntimeError):
    """The base image could not be created; the text says why."""


def missing() -> str:
    """Return why images cannot be built here; empty if they can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "building images here needs Linux and root"
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"not installed: {', '.join(absent)}" if absent else ""


def cannot_publish() -> str:
    """Return why containers cannot have published ports here; empty if they can."""
    programs = map(Path, _NETWORK_PROGRAMS)
    if any(program.exists() for program in programs) and shutil.which("iptables"):
        return ""
    return "publishing ports needs iptables and netavark or the CNI plugins"


@dataclass(frozen=True, slots=True)
class Engine:
    """Podman and buildah with their storage under one directory."""

    directory: Path

    def _run(self, *command: str) -> str:
        environment = os.environ | {"TMPDIR": str(self.directory)}
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, env=environment
        )
        if process.returncode:
            raise AssertionError(f"{command}\n{process.stdout}\n{process.stderr}")
        return process.stdout

    @property
    def _storage(self) -> tuple[str, ...]:
        root, running = self.directory / "images", self.directory / "running"
        return ("--root", str(root), "--runroot", str(running), "--storage-driver", "vfs")

    @property
    def options(self) -> tuple[str, ...]:
        """The options of each call of podman."""
        return (*self._storage, "--cgroup-manager", "cgroupfs")

    def environment(self) -> dict[str, str]:
        """Return variables with which podman starts containers that are given no limits."""
        config = self.directory / "containers.conf"
        limits = ", ".join(f'"{limit}"' for limit in _LIMITS if limit != "--ulimit")
        config.write_text(f'[containers]\ndefault_ulimits=[{limits}]\n[engine]\nruntime="runc"\n')
        return {"TMPDIR": str(self.directory), "CONTAINERS_CONF": str(config)}

    def command(self, *arguments: str) -> tuple[str, ...]:
        """Return a call of podman."""
        return ("podman", *self.options, *arguments)

    def podman(self, *arguments: str) -> str:
        """Run podman; return its output."""
        return self._run(*self.command(*arguments))

    def prepare(self) -> None:
        """Create a base image and download the packages, so that builds need no network.

        The base image replaces a public Python image.
        """
        with ThreadPoolExecutor() as pool:
            for each in (pool.submit(self._create_base), pool.submit(self._download_packages)):
                each.result()

    def _create_base(self) -> None:
        """Unpack Debian's Python; its packages work without being configured."""
        packages = "base-files,coreutils,dash,grep,libc-bin,python3,python3-pip"
        self.import_debian(BASE, packages, variant="extract")

    def import_debian(self, name: str, packages: str, *, variant: str = "minbase") -> str:
        """Make an image of Debian with packages, as a variant of mmdebstrap; return its name."""
        archive = self.directory / "system.tar"
        try:
            self._run(
                *("mmdebstrap", "--quiet", "--mode=root", f"--variant={variant}", "bookworm"),
                f"--include={packages}",
                *(f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in _EXCLUDED_FOLDERS),
                *(str(archive), f"deb {_MIRROR} bookworm main"),
            )
        except AssertionError as fault:
            raise NoBaseImage(str(fault)[-2000:]) from None
        self.podman("import", str(archive), name)
        archive.unlink()
        return name

    @property
    def wheels(self) -> Path:
        """The folder of the packages that builds install."""
        return self.directory / "wheels"

    def download(self, *requirements: str) -> None:
        """Add packages to :attr:`wheels`: those that building our own one needs."""
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(self.wheels))
        self._run(*pip, *requirements)

    def _download_packages(self) -> None:
        wheels = str(self.wheels)
        names = ("requirements.txt", "requirements-local.txt", "relay/requirements.txt")
        lines = [line for name in names for line in (ROOT / name).read_text().splitlines()]
        # PyPI has only their source, and a build in a container could not fetch setuptools.
        sources = [line for line in lines if line.startswith(_SOURCES)]
        pip = (sys.executable, "-m", "pip")
        self._run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, *sources)
        self._run(
            *(*pip, "download", "--quiet", "--only-binary=:all:", "--find-links", wheels),
            *("--python-version", PYTHON, "--dest", wheels),
            *("--requirement", str(ROOT / "requirements-local.txt")),
        )

    def build(self, target: str) -> str:
        """Build a target of the relay's Dockerfile; return the image's name."""
        return self._build(
            *(f"localhost/postfinch-{target}", ROOT / "relay" / "Dockerfile", "--target", target)
        )

    def build_service(self) -> str:
        """Build the image of the whole service; return its name."""
        return self._build("localhost/postfinch", ROOT / "Dockerfile")

    def _build(self, name: str, file: Path, *options: str) -> str:
        self._run(
            *("buildah", *self._storage, "build", "--isolation=chroot", "--network=host"),
            *("--format=docker", "--layers=false", "--file", str(file), *options),
            *("--build-arg", f"BASE={BASE}"),
            *("--build-arg", "PIP_NO_INDEX=1", "--build-arg", "PIP_FIND_LINKS=/wheels"),
            *("--volume", f"{self.wheels}:/wheels:ro", "--tag", name, str(ROOT)),
        )
        return name

    def run_system(self, image: str, name: str, *folders: Path) -> None:
        """Run a container whose first process is systemd, with folders at the same places."""
        volumes = [f"--volume={folder}:{folder}" for folder in folders]
        self.podman(
            *("run", "--runtime=runc", "--network=host", *_LIMITS, "--detach", f"--name={name}"),
            *("--privileged", "--systemd=always", *volumes, image, "/lib/systemd/systemd"),
        )

    def run(
        self,
        image: str,
        environment: dict[str, str],
        *options: str,
        network: str = "host",
        verb: str = "run",
    ) -> str:
        """Run or create a container as the compose file does; return podman's output."""
        return self.podman(
            *(verb, "--runtime=runc", f"--network={network}", *_LIMITS),
            *("--read-only", "--tmpfs=/tmp", "--cap-drop=ALL"),
            *("--security-opt=no-new-privileges", *options),
            *(f"--env={name}={value}" for name, value in environment.items()),
            image,
        )

    @contextmanager
    def docker_api(self) -> Iterator[str]:
        """Serve Docker's API while the block runs; yield the address of its socket."""
        path = self.directory / "api.sock"
        process = subprocess.Popen(
            ("podman", *self.options, "system", "service", "--time=0", f"unix://{path}"),
            env=os.environ | self.environment(),
            stderr=subprocess.DEVNULL,
        )
        try:
            eventually(lambda: path.exists() or process.poll() is not None)
            assert process.poll() is None, "podman does not serve its API"
            yield f"unix://{path}"
        finally:
            process.terminate()
            process.wait(_TIMEOUT_SECONDS)

    def logs(self, container: str) -> str:
        """Return the standard output and error of a container."""
        command = ("podman", *self._storage, "logs", container)
        return subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
        ).stdout

    def close(self) -> None:
        """Stop all containers and remove the storage."""
        self.podman("rm", "--all", "--force", "--time=0", "--volumes")
        shutil.rmtree(self.directory)

    def size(self, image: str) -> int:
        """Return the size of an image in bytes."""
        return int(self.podman("image", "inspect", "--format={{.Size}}", image))


def make_engine(directory: Path) -> Engine:
    """Return an engine with its storage in memory if there is room, else in ``directory``.

    Builds copy images, which takes minutes on a slow disk.
    """
    memory = Path("/dev/shm")
    if memory.is_dir() and shutil.disk_usage(memory).free > _FREE_BYTES:
        return Engine(Path(tempfile.mkdtemp(prefix="postfinch-containers-", dir=memory)))
    return Engine(directory)
