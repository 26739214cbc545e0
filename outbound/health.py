"""Tell whether each process of this host's delivery container can consume its queues.

A process touches a file after each request that SQS has answered: for messages, which takes at most
one long poll, or to keep those hidden that it works on. ``python -m outbound.health`` exits with
status 0 if all files are recent.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from chalicelib.core.queue_consumer import LONG_POLL
from chalicelib.core.settings import settings

# A poll, the pause before the next one after an error, and a machine that is busy
LONGEST_SILENCE = 2.0 * LONG_POLL + 10.0


def expect(processes: int) -> None:
    """Forget earlier processes; from now on ``processes`` of them must consume."""
    directory = _directory()
    directory.mkdir(parents=True, exist_ok=True)
    for file in directory.iterdir():
        file.unlink(missing_ok=True)
    (directory / "processes").write_text(str(processes))


def beat(process: int) -> None:
    """Note that SQS has answered a process now."""
    (_directory() / f"process-{process}").touch()


def silent_processes() -> list[int]:
    """Return the numbers of the processes that cannot consume; ``[0]`` if none has started."""
    directory = _directory()
    try:
        processes = int((directory / "processes").read_text())
    except (OSError, ValueError):
        return [0]
    return [number for number in range(processes) if not _is_recent(directory, number)]


def main() -> int:
    """Check all processes; return the exit status."""
    silent = silent_processes()
    for number in silent:
        print(f"delivery process {number} does not get messages from SQS", file=sys.stderr)
    return 1 if silent else 0


def _is_recent(directory: Path, process: int) -> bool:
    try:
        age = time.time() - (directory / f"process-{process}").stat().st_mtime
    except OSError:
        return False
    return age < LONGEST_SILENCE


def _directory() -> Path:
    current = settings()
    name = f"postfinch-{current.stage}-delivery-{current.delivery_container or 'any'}"
    return Path(tempfile.gettempdir()) / name


if __name__ == "__main__":
    sys.exit(main())
