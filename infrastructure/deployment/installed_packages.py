"""Copy the packages of this environment, for an archive that runs on this machine.

``chalice package`` downloads the packages of ``requirements.txt`` for the functions' architecture.
For a cloud on this machine the packages installed here serve as well, tested and without a
download.
"""

from __future__ import annotations

import shutil
from collections.abc import Container
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

from infrastructure.deployment.archive_contents import RUNTIME_PACKAGES


def copy_installed(requirements: Path, target: Path) -> None:
    """Copy what ``requirements`` names, with all that it needs, as far as it is importable."""
    for package in closure(requirements, without=RUNTIME_PACKAGES):
        for file in package.files or []:
            inside = ".." not in file.parts and "__pycache__" not in file.parts
            if inside and (source := Path(str(file.locate()))).is_file():
                destination = target.joinpath(*file.parts)
                destination.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, destination)


def closure(requirements: Path, *, without: Container[str] = ()) -> list[Distribution]:
    """Return the installed packages that ``requirements`` names, and all that they need.

    Those that are named by ``without`` are left out, with what only they need.
    """
    lines = (line.split("#")[0].strip() for line in requirements.read_text().splitlines())
    requirements_here = (Requirement(line) for line in lines if line)
    pending = [each for each in requirements_here if each.marker is None or each.marker.evaluate()]
    packages: dict[str, Distribution] = {}
    seen: set[str] = set()
    while pending:
        requirement = pending.pop()
        if requirement.name in without or str(requirement) in seen:
            continue
        seen.add(str(requirement))
        packages[requirement.name] = distribution(requirement.name)
        for text in packages[requirement.name].requires or []:
            dependency = Requirement(text)
            extras = requirement.extras or {""}
            if dependency.marker is None or any(
                dependency.marker.evaluate({"extra": extra}) for extra in extras
            ):
                pending.append(dependency)
    return list(packages.values())
