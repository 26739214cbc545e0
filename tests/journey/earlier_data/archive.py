"""Pack the data directory of a stopped service, and unpack it for another service to start on.

``python -m tests.journey.earlier_data.archive DATA_DIR`` writes `data.tar.xz` beside this module.
The archive leaves out files that belong to one machine: ports, locks, logs, certificates and the
secret key. The same directory always gives the same bytes.
"""

from __future__ import annotations

import argparse
import tarfile
from pathlib import Path

ARCHIVE = Path(__file__).with_name("data.tar.xz")
_LEFT_OUT = (
    "api_key",
    "cloud.secret",
    "lock",
    "logs",
    "output.log",
    "ports.json",
    "secret.key",
    "tls",
)
_SUFFIXES_LEFT_OUT = (".lock", "-shm", "-wal")


def pack(data_dir: Path, archive: Path = ARCHIVE) -> None:
    """Write ``archive`` from the data directory of a stopped service."""
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for path in sorted(data_dir.rglob("*")):
            name = path.relative_to(data_dir)
            if not _is_left_out(name):
                tar.add(path, str(name), recursive=False, filter=_without_owner_and_time)


def unpack(data_dir: Path, archive: Path = ARCHIVE) -> None:
    """Write the files of ``archive`` into an empty data directory."""
    with tarfile.open(archive) as tar:
        tar.extractall(data_dir, filter="data")


def _is_left_out(name: Path) -> bool:
    return (
        name.parts[0] in _LEFT_OUT
        or name.parts[:2] in (("cloud", "lock"), ("cloud", "tmp"))
        or name.name.endswith(_SUFFIXES_LEFT_OUT)
    )


def _without_owner_and_time(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def main() -> None:
    """Pack the directory that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data_dir", type=Path)
    pack(parser.parse_args().data_dir)


if __name__ == "__main__":
    main()
