"""Tell the user of `make run` something while the service runs.

A process of the runtime writes to its own log file. What the user has to know is written to the
terminal too: the process writes the line to a pipe with a name, and the supervisor shows it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

#: The environment variable with the path of the pipe, and the name of the pipe. It is not among the
#: logs: a search in them would wait for it
VARIABLE = "NOTICES"
PIPE = "notices"
#: The exit status of a process that cannot start; its last line says why
REFUSED = 3
_LONGEST = 4096


def tell(line: str) -> None:
    """Show ``line`` in the terminal of the supervisor, if there is one, and in the log."""
    print_line(line)
    path = os.environ.get(VARIABLE)
    # Without a supervisor that reads it the pipe cannot be opened, and the line is in the log
    with suppress(OSError):
        if path is not None:
            pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                os.write(pipe, f"{line}\n".encode())
            finally:
                os.close(pipe)


def print_line(line: str) -> None:
    """Show a line in the terminal."""
    print(line, file=sys.stderr, flush=True)


class Notices:
    """The end at which the supervisor reads what processes tell. Its pipe is at ``path``.

    ``report`` shows a line to the user.
    """

    def __init__(self, path: Path, report: Callable[[str], None] = print_line) -> None:
        self._path = path
        self._report = report
        path.unlink(missing_ok=True)
        os.mkfifo(path, mode=0o600)
        # Open for writing as well, so that it has no end when a writer closes it
        self.descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def show(self) -> None:
        """Show what was told since the last call."""
        with suppress(BlockingIOError):
            while text := os.read(self.descriptor, _LONGEST):
                for line in text.decode(errors="replace").splitlines():
                    self._report(line)

    def close(self) -> None:
        """Read no more, and remove the pipe."""
        self._path.unlink(missing_ok=True)
        os.close(self.descriptor)
