"""Check what the machine has: disk, memory, open files, and who may read the configuration."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from infrastructure.local.supervisor import open_files
from infrastructure.machine.checks.finding import OK, PROBLEM, WARNING, Finding
from infrastructure.machine.checks.installation import Installation

#: Bytes for a million messages of usual size, with their events of ten days
MILLION_MESSAGES = 6_000_000_000
_LEAST_DISK = 500_000_000
#: A machine that is sold with 1 GB has a little less
_LEAST_MEMORY = 900_000_000
_USUAL_FILES = 4096
_OTHERS_MAY = 0o037

_MEMORY = Path("/proc/meminfo")
_LIMIT = Path("/sys/fs/cgroup/memory.max")


def check_disk(installation: Installation) -> Finding:
    """Check that the disk of the data has room for a million messages."""
    folder = installation.data_dir.absolute()
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(existing).free
    text = f"{free / 1e9:.1f} GB free for {folder}"
    if free >= MILLION_MESSAGES:
        return Finding("Disk", OK, text)
    remedy = (
        f"a million messages take up to {MILLION_MESSAGES / 1e9:.0f} GB: make room, or set DATA_DIR"
    )
    return Finding("Disk", PROBLEM if free < _LEAST_DISK else WARNING, text, remedy)


def check_memory() -> Finding:
    """Check that there is memory for all processes."""
    memory = _memory()
    text = f"{memory / 1e9:.1f} GB"
    if memory >= _LEAST_MEMORY:
        return Finding("Memory", OK, text)
    return Finding("Memory", WARNING, text, "give the machine 1 GB or more")


def check_open_files() -> Finding:
    """Check how many files a process may open; connections are files as well."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    check = "Open files"
    if most == resource.RLIM_INFINITY or most >= _USUAL_FILES:
        text = "no limit" if most == resource.RLIM_INFINITY else f"{most} a process"
        return Finding(check, OK, text)
    remedy = "the unit of `postfinch service` allows more; elsewhere raise the limit (`ulimit -n`)"
    status = PROBLEM if most < open_files.LEAST else WARNING
    return Finding(check, status, f"{most} a process", remedy)


def check_permissions(installation: Installation) -> Iterator[Finding]:
    """Check that nobody else reads the configuration file, which may have passwords."""
    path = installation.path
    with suppress(FileNotFoundError):
        mode = path.stat().st_mode
        check = "Configuration file"
        if mode & _OTHERS_MAY:
            yield Finding(check, PROBLEM, f"others may read {path}", f"chmod 600 {path}")
        elif not os.access(path, os.R_OK):
            yield Finding(check, PROBLEM, f"this user may not read {path}", "call as its owner")
        else:
            yield Finding(check, OK, str(path))


def _memory() -> int:
    """Return the bytes of memory that this machine, or this container, has."""
    values = [_total(_MEMORY.read_text())]
    with suppress(OSError, ValueError):  # no container, or no limit
        values.append(int(_LIMIT.read_text()))
    return min(values)


def _total(text: str) -> int:
    line = next(each for each in text.splitlines() if each.startswith("MemTotal:"))
    return int(line.split()[1]) * 1024
