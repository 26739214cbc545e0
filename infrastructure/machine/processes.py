"""Tell how much memory the processes of a running service take (Linux)."""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_PIDS_FILE = "processes.json"


def memory(data_dir: Path) -> dict[str, int]:
    """Return the resident memory of the service's processes in bytes, by their names.

    Processes that another one started count for that one. Memory that forks share counts for each.
    """
    try:
        own = {int(pid) for pid in json.loads((data_dir / _PIDS_FILE).read_text())}
    except (OSError, ValueError):  # being written, or not running
        return {}
    sizes: Counter[str] = Counter()
    for pid in own:
        sizes[_name(pid)] += sum(map(_resident, (pid, *_children(pid))))
    return {name: size for name, size in sizes.items() if name}


def _name(pid: int) -> str:
    with suppress(OSError):
        return (_PROC / str(pid) / "comm").read_text().strip()
    return ""


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        text = (_PROC / str(pid) / "task" / str(pid) / "children").read_text()
        return [int(child) for child in text.split()]
    return []


def _resident(pid: int) -> int:
    with suppress(OSError, IndexError):
        pages = int((_PROC / str(pid) / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0
