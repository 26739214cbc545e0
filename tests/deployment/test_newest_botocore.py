"""Try the newest botocore: Lambda brings its own version, which changes without notice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Tests of what uses private names of botocore
TESTS = "tests/unit/core/test_aws_requests.py"


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the newest botocore of the package index."""
    folder = tmp_path_factory.mktemp("botocore")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-compile", "--no-deps", "--upgrade", "--target", str(folder), "botocore"]
    result = subprocess.run([*command, *options], capture_output=True, text=True)
    if result.returncode:
        assert "No matching distribution" in result.stderr, result.stderr
        pytest.skip("the package index cannot be reached")
    return folder


def test_requests_are_prepared_with_the_newest_botocore(newest: Path) -> None:
    environment = os.environ | {"PYTHONPATH": f"{newest}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", TESTS]
    result = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stdout
    where = "import botocore; print(botocore.__file__)"
    location = subprocess.run(
        [sys.executable, "-c", where], env=environment, capture_output=True, text=True, check=True
    )
    assert Path(location.stdout.strip()).is_relative_to(newest)
