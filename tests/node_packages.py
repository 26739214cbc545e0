"""Install the npm packages of Node.js programs into ``build/``, once for each lock file.

npm runs no scripts of the packages. Without npm or its registry the tests are skipped, but in CI.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.journey.service import ROOT

_FOLDER = ROOT / "build" / "node"
_NPM_CI = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")


def install(source: Path) -> Path:
    """Return a folder with the programs of ``source`` as they are now, and their packages."""
    lock = (source / "package-lock.json").read_bytes()
    folder = _FOLDER / hashlib.sha256(lock).hexdigest()[:16]
    if not folder.exists():
        _FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_FOLDER) as work:
            _install_into(source, Path(work) / "node")
            os.replace(Path(work) / "node", folder)
    shutil.copytree(source, folder, dirs_exist_ok=True)
    return folder


def _install_into(source: Path, folder: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed (apt-get install npm)")
    shutil.copytree(source, folder)
    process = subprocess.run(_NPM_CI, cwd=folder, capture_output=True, text=True, timeout=300)
    if process.returncode:
        reason = f"npm ci failed: {process.stderr.strip()[-500:]}"
        if "CI" in os.environ:
            pytest.fail(reason)
        pytest.skip(reason)
