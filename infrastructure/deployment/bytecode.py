"""Compile the deployment archive for Lambda, with the same bytes each time.

Lambda's file system is read-only, so Python would compile every module again at each cold start.
The bytecode carries no check of its source (PEP 552, unchecked hash), because both come from this
archive only. Entries are sorted and have the same date, so that what did not change has the same
digest and is not deployed again.
"""

from __future__ import annotations

import py_compile
import tempfile
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from infrastructure.deployment.archive_contents import is_needed

# The earliest date that an archive can hold
_DATE = (1980, 1, 1, 0, 0, 0)
_FILE = 0o644 << 16
_PROGRAM = 0o755 << 16


def compile_archive(source: Path, target: Path) -> None:
    """Write the files of ``source``, with their bytecode, to ``target``."""
    with ZipFile(source) as files, ZipFile(target, "w", ZIP_DEFLATED) as out:
        for name, data in _entries(files):
            entry = ZipInfo(name, _DATE)
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = _PROGRAM if name.endswith(".so") else _FILE
            out.writestr(entry, data)


def _entries(files: ZipFile) -> Iterator[tuple[str, bytes]]:
    with tempfile.TemporaryDirectory() as directory:
        for name in sorted(set(files.namelist())):
            if not is_needed(name):
                continue
            data = files.read(name)
            yield name, data
            if name.endswith(".py") and (compiled := _compiled(name, data, Path(directory))):
                yield cache_from_source(name), compiled


def _compiled(name: str, source: bytes, directory: Path) -> bytes | None:
    """Return the bytecode of a module; nothing for a file that is not of this Python version."""
    module, result = directory / "module.py", directory / "module.pyc"
    module.write_bytes(source)
    try:
        py_compile.compile(
            str(module),
            cfile=str(result),
            dfile=name,
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    except py_compile.PyCompileError:
        return None
    return result.read_bytes()
