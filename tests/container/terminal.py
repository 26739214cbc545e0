"""Type the commands that a page shows for Docker, with podman in the place of Docker.

Commands run as they are written there. Programs of the names ``docker`` and ``sudo`` pass them on, as
those of Debian's package podman-docker do.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.container.engine import Engine
from tests.journey.service import ROOT

_TIMEOUT_SECONDS = 300.0
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_DOCKER = """\
if [ "$1" = compose ]; then shift; exec {python} -m podman_compose "$@"; fi
exec podman "$@"
"""


def blocks(page: str, heading: str) -> list[str]:
    """Return the commands of a section of a page in docs/, one text for each of its blocks."""
    text = (ROOT / "docs" / page).read_text()
    pattern = rf"^(#+) {re.escape(heading)}\n(.*?)(?=^\1 |\Z)"
    section = re.search(pattern, text, re.DOTALL | re.MULTILINE)
    assert section, f"{page} has no section {heading}"
    return _BLOCK.findall(section[2])


class Terminal:
    """A shell with a home folder; what a command changes, those after it see.

    ``folder`` is where the commands run, and ``variables`` is their environment.
    """

    def __init__(self, engine: Engine, home: Path, folder: Path, **variables: str) -> None:
        self.folder = folder
        self._programs = home / "programs"
        self._state = home / "variables"
        self.variables = {
            **os.environ,
            **engine.environment(),
            "HOME": str(home),
            "PATH": f"{self._programs}:{os.environ['PATH']}",
            **variables,
        }
        self._programs.mkdir(parents=True)
        networks = home / "networks"
        networks.mkdir()
        options = " ".join((*engine.options, "--network-config-dir", str(networks)))
        self._add_program("podman", f'exec {shutil.which("podman")} {options} "$@"\n')
        self._add_program("docker", _DOCKER.format(python=sys.executable))
        self._add_program("sudo", 'exec "$@"\n')

    def _add_program(self, name: str, text: str) -> None:
        path = self._programs / name
        path.write_text(f"#!/bin/sh\n{text}")
        path.chmod(0o755)

    def run(self, commands: str, *, may_fail: bool = False) -> str:
        """Run lines of shell; return what they print to the standard output."""
        end = f"env -0 >{self._state}; pwd >{self._state}.folder"
        process = subprocess.run(
            ["sh", "-euc", f"trap '{end}' EXIT; set -a\n{commands}"],
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
        assert may_fail or process.returncode == 0, commands + process.stdout + process.stderr
        pairs = self._state.read_text().rstrip("\0").split("\0")
        self.variables = dict(pair.split("=", 1) for pair in pairs)
        self.folder = Path(self._state.with_suffix(".folder").read_text().strip())
        return process.stdout
