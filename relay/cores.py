"""How many processor cores this process may keep busy."""

from __future__ import annotations

import os
from pathlib import Path

# cgroup v2: the microseconds of processor time a period, or "max"; and the period
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores(quota_file: Path = _QUOTA) -> int:
    """The cores that the host gives, or fewer where the container has a quota; at least one."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        cores = os.cpu_count() or 1
    try:
        quota, period = quota_file.read_text().split()
        return max(1, min(cores, -(-int(quota) // int(period))))
    except (OSError, ValueError):  # no such file, or no quota
        return cores
