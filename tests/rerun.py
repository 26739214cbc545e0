"""Run the files whose tests failed in the last run once more, one by one (``.ci/run``).

On a busy machine one of many thousand tests may fail by chance. A test that passes now is unstable:
its name is written to standard output. Its whole file is run, since tests may build on those before
them. The exit status is 1 if a test fails again, if more than three failed, or if the last run did
not come to its end.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

_CACHE = Path(__file__).parent.parent / ".pytest_cache" / "v"
#: Where `tests.conftest` keeps the exit status of a run in pytest's cache
STATUS_KEY = "postfinch/exit-status"
MOST_UNSTABLE = 3


def main() -> int:
    """Return the exit status."""
    names = sorted(_read("cache/lastfailed") or {})
    if _read(STATUS_KEY) != pytest.ExitCode.TESTS_FAILED or not names:
        print("the last run has no failed tests to be run again", file=sys.stderr)
        return 1
    if len(names) > MOST_UNSTABLE:
        print(f"{len(names)} tests failed: too many to be unstable", file=sys.stderr)
        return 1
    files = sorted({name.partition("::")[0] for name in names})
    command = [sys.executable, "-m", "pytest", *files]
    if subprocess.run(command, stdout=sys.stderr).returncode:
        return 1
    print("\n".join(names))
    return 0


def _read(key: str) -> Any:
    path = _CACHE / key
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


if __name__ == "__main__":
    sys.exit(main())
