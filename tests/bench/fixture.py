"""Measure the fixture for pytest: the start of its service, and what it adds to a test."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median

from postfinch.testing import TestAccount
from postfinch.testing.shared_service import SharedService

MOST_SECONDS = 8.0
MOST_MILLISECONDS = 30.0
_TESTS = 100


def main() -> None:
    """Print both figures with their bars."""
    with tempfile.TemporaryDirectory() as directory:
        shared = SharedService(Path(directory) / "postfinch", {})
        began = time.monotonic()
        service = shared.join()
        try:
            started = time.monotonic() - began
            times = []
            for _ in range(_TESTS):
                began = time.monotonic()
                TestAccount(service).close()
                times.append((time.monotonic() - began) * 1000)
        finally:
            shared.leave()
    verdict = "holds" if started <= MOST_SECONDS else "FAILS"
    print(f"the service of a test run is ready after {started:.1f} s [{verdict}: {MOST_SECONDS}]")
    added = median(times)
    verdict = "holds" if added <= MOST_MILLISECONDS else "FAILS"
    print(f"an account for a test takes {added:.1f} ms [{verdict}: {MOST_MILLISECONDS}]")


if __name__ == "__main__":
    main()
