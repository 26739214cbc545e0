"""Package the application for CloudFormation: one template and one archive for all functions.

``python -m infrastructure.package OUT`` has Chalice package a copy of the application together with
:mod:`infrastructure.deployment.merge_template`, then compiles the archive. ``OUT`` holds afterwards

- ``template.json``, whose functions take their code from ``./deployment.zip``;
- ``deployment.zip``, at most :data:`MOST_BYTES` large.

The template names no stage: its parameter ``Stage`` does.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from chalicelib.core.json_types import Json
from infrastructure.deployment.bytecode import compile_archive
from infrastructure.deployment.functions import functions
from infrastructure.deployment.merge_template import merge_template

ROOT = Path(__file__).resolve().parents[1]
ARCHITECTURES = ("arm64", "x86_64")
MOST_BYTES = 24 * 1024 * 1024


_CHALICE = "import sys; from chalice.cli import main; sys.exit(main())"


class PackagingFailed(RuntimeError):
    """The application could not be packaged; the message is Chalice's."""


@dataclass(frozen=True, slots=True)
class Package:
    """A packaged application."""

    template: Json
    archive: Path


def host_architecture() -> str:
    """Return Lambda's name for this machine's processor."""
    return "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"


def build(out: Path, *, architecture: str = "arm64", installed: bool = False) -> Package:
    """Package into the directory ``out``; raises :class:`PackagingFailed`.

    With ``installed``, packages are those of this environment, whose architecture it then must be.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        project, packaged = Path(temporary) / "project", Path(temporary) / "out"
        _copy_application(project, architecture, installed=installed)
        _run_chalice(project, packaged)
        compile_archive(packaged / "deployment.zip", out / "deployment.zip")
        template: Json = json.loads((packaged / "sam.json").read_text())
    if (size := (out / "deployment.zip").stat().st_size) > MOST_BYTES:
        raise PackagingFailed(f"the archive has {size} bytes, more than {MOST_BYTES}")
    (out / "template.json").write_text(json.dumps(template, indent=1))
    return Package(template, out / "deployment.zip")


def _copy_application(project: Path, architecture: str, *, installed: bool) -> None:
    project.mkdir()
    shutil.copyfile(ROOT / "app.py", project / "app.py")
    shutil.copytree(
        ROOT / "chalicelib", project / "chalicelib", ignore=shutil.ignore_patterns("__pycache__")
    )
    # Chalice puts what is below `vendor` at the top of the archive, beside `app.py`.
    shutil.copytree(ROOT / "console", project / "vendor" / "console")
    config: Json = json.loads((ROOT / ".chalice" / "config.json").read_text())
    config["lambda_architecture"] = architecture
    (project / ".chalice").mkdir()
    (project / ".chalice" / "config.json").write_text(json.dumps(config))
    (project / "merge.json").write_text(json.dumps(merge_template(functions())))
    if installed:
        from infrastructure.deployment.installed_packages import copy_installed

        copy_installed(ROOT / "requirements.txt", project / "vendor")
    else:
        shutil.copyfile(ROOT / "requirements.txt", project / "requirements.txt")


def _run_chalice(project: Path, out: Path) -> None:
    command = [sys.executable, "-c", _CHALICE, "--project-dir", str(project), "package"]
    command += ["--pkg-format", "cloudformation", "--merge-template", str(project / "merge.json")]
    done = subprocess.run(
        [*command, str(out)],
        cwd=project,
        env={"AWS_DEFAULT_REGION": "us-east-1", **os.environ},
        capture_output=True,
        text=True,
    )
    # Chalice only warns of packages that it could not download, and goes on without them.
    if done.returncode or "Could not install dependencies" in done.stdout + done.stderr:
        raise PackagingFailed(done.stdout + done.stderr)


def main(arguments: list[str] | None = None) -> int:
    """Package into the directory that the command line names."""
    parser = argparse.ArgumentParser(description="Package the application for CloudFormation.")
    parser.add_argument("out", type=Path, help="directory to write to")
    parser.add_argument("--architecture", choices=ARCHITECTURES, default="arm64")
    parser.add_argument(
        "--installed",
        action="store_true",
        help="use the packages of this environment instead of downloading them",
    )
    options = parser.parse_args(arguments)
    try:
        package = build(options.out, architecture=options.architecture, installed=options.installed)
    except PackagingFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    print(f"{package.archive}: {package.archive.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
