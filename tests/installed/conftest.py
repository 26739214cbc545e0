"""Install the package that `make wheel` builds into an empty environment, once for all tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="package")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    _pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="package")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment in which only the package was installed."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    _pip(
        str(folder / "bin" / "python"),
        "install",
        "--no-compile",
        str(wheel),
        "pytest",
        "pytest-xdist",
    )
    return folder / "bin"


def _pip(python: str, *arguments: str) -> None:
    command = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    environment = {**os.environ, "PIP_NO_INPUT": "1"}
    subprocess.run(command, check=True, env=environment)
