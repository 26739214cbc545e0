"""Type the commands that a page shows, as they are written there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.container.engine import Engine
from tests.journey.service import ROOT

_TIMEOUT_SECONDS = 240.0
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SCRIPT = """\
trap 'export -p >{state}; pwd >{state}.folder' EXIT
. {state}
cd "$(cat {state}.folder)"
set -a
{commands}
"""
_DOCKER = """\
if [ "$1" = compose ]; then shift; exec {python} -m podman_compose "$@"; fi
exec podman "$@"
"""


def blocks(page: str, heading: str) -> list[str]:
    """Return the commands under a heading of a page in docs/, one text for each block."""
    text = (ROOT / "docs" / page).read_text()
    pattern = rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)"
    section = re.search(pattern, text, re.DOTALL | re.MULTILINE)
    assert section, f"{page} has no section {heading}"
    return _BLOCK.findall(section[1])


class Terminal:
    """A shell in a folder ``home``; what a command changes, those after it see.

    ``shell`` runs it, here or in a container that has the folder at the same place.
    """

    def __init__(self, home: Path, shell: Sequence[str] = ("sh",), **variables: str) -> None:
        self.home = home
        self._shell = shell
        self._state = home / "variables"
        exports = [f"export {name}='{text}'\n" for name, text in variables.items()]
        self._state.write_text("".join(exports))
        (home / "variables.folder").write_text(str(home))

    def run(self, commands: str, *, may_fail: bool = False) -> str:
        """Run lines of shell; return what they print to the standard output."""
        process = subprocess.run(
            [*self._shell, "-euc", _SCRIPT.format(state=self._state, commands=commands)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
        assert may_fail or process.returncode == 0, commands + process.stdout + process.stderr
        return process.stdout


def docker_variables(engine: Engine, folder: Path) -> dict[str, str]:
    """Return variables with which podman is called in place of Docker, and no other user with sudo.

    Programs of these names in ``folder`` pass commands on, as those of Debian's podman-docker do.
    """
    networks = folder / "networks"
    networks.mkdir(parents=True)
    options = " ".join((*engine.options, "--network-config-dir", str(networks)))
    programs = {
        "podman": f'exec {shutil.which("podman")} {options} "$@"\n',
        "docker": _DOCKER.format(python=sys.executable),
        "sudo": 'exec "$@"\n',
    }
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}")
        (folder / name).chmod(0o755)
    return {
        **engine.environment(),
        "PATH": f"{folder}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    }
