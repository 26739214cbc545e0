"""Install the npm packages of the Node.js clients into ``build/``, once for each lock file.

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

SOURCE = Path(__file__).parent / "node"
_FOLDER = ROOT / "build" / "clients"
_NPM_CI = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")


def install() -> Path:
    """Return a folder with the Node.js programs of today and the packages that they import."""
    lock = (SOURCE / "package-lock.json").read_bytes()
    folder = _FOLDER / hashlib.sha256(lock).hexdigest()[:16]
    if not folder.exists():
        _FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_FOLDER) as work:
            _install_into(Path(work) / "node")
            os.replace(Path(work) / "node", folder)
    shutil.copytree(SOURCE, folder, dirs_exist_ok=True)
    return folder


def _install_into(folder: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed (apt-get install npm)")
    shutil.copytree(SOURCE, folder)
    process = subprocess.run(_NPM_CI, cwd=folder, capture_output=True, text=True, timeout=300)
    if process.returncode:
        reason = f"npm ci failed: {process.stderr.strip()[-500:]}"
        if "CI" in os.environ:
            pytest.fail(reason)
        pytest.skip(reason)
