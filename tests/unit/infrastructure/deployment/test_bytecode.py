from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

from infrastructure.deployment.bytecode import compile_archive

FILES = {
    "chalicelib/__init__.py": "",
    "chalicelib/a.py": "VALUE = 42\n",
    "chalicelib/__pycache__/a.cpython-39.pyc": "stale",
    "lib/old_syntax.py": "print 'of another Python'\n",
    "lib/typed.pyi": "x: int\n",
    "lib/native.so": "\x7fELF",
}


def archive(path: Path, names: list[str]) -> Path:
    with zipfile.ZipFile(path, "w") as out:
        for name in names:
            out.writestr(name, FILES[name])
    return path


def compile_files(tmp_path: Path, names: list[str] | None = None) -> Path:
    target = tmp_path / "compiled.zip"
    compile_archive(archive(tmp_path / "plain.zip", names or list(FILES)), target)
    return target


def test_every_module_gets_bytecode_that_is_not_checked_against_its_source(
    tmp_path: Path,
) -> None:
    with zipfile.ZipFile(compile_files(tmp_path)) as files:
        data = files.read(importlib.util.cache_from_source("chalicelib/a.py"))
    # PEP 552: bit 0 means that a hash follows, bit 1 that the source is checked against it
    assert int.from_bytes(data[4:8], "little") == 0b01


def test_python_runs_the_bytecode_and_not_the_source(tmp_path: Path) -> None:
    root = tmp_path / "unpacked"
    with zipfile.ZipFile(compile_files(tmp_path)) as files:
        files.extractall(root)
    (root / "chalicelib" / "a.py").write_text("VALUE = 'from the source'\n")
    output = subprocess.run(
        [sys.executable, "-c", "import chalicelib.a; print(chalicelib.a.VALUE)"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert output == "42\n"


def test_stale_bytecode_is_removed_and_files_that_do_not_compile_are_kept(tmp_path: Path) -> None:
    with zipfile.ZipFile(compile_files(tmp_path)) as files:
        names = set(files.namelist())
    assert names & {"chalicelib/__pycache__/a.cpython-39.pyc", "lib/typed.pyi"} == set()
    assert {"lib/old_syntax.py", "lib/native.so"} <= names
    assert importlib.util.cache_from_source("lib/old_syntax.py") not in names


def test_the_archive_does_not_depend_on_the_order_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    one = compile_files(tmp_path / "1", list(FILES))
    two = compile_files(tmp_path / "2", list(reversed(FILES)))
    assert one.read_bytes() == two.read_bytes()
