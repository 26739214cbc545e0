"""The packages of this environment, for an archive that runs on this machine.

``chalice package`` downloads what ``requirements.txt`` names for the functions' architecture. For a
cloud on this machine that is what is installed here already, tested and without a download.
"""

from __future__ import annotations

import shutil
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement


def copy_installed(requirements: Path, target: Path) -> None:
    """Copy what ``requirements`` names, with all that it needs, as far as it is importable."""
    for found in _closure(requirements):
        for file in found.files or []:
            inside = ".." not in file.parts and "__pycache__" not in file.parts
            if inside and (source := Path(str(file.locate()))).is_file():
                destination = target.joinpath(*file.parts)
                destination.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, destination)


def _closure(requirements: Path) -> list[Distribution]:
    lines = (line.split("#")[0].strip() for line in requirements.read_text().splitlines())
    waiting = [Requirement(line) for line in lines if line]
    found: dict[str, Distribution] = {}
    seen: set[str] = set()
    while waiting:
        wanted = waiting.pop()
        if str(wanted) in seen:
            continue
        seen.add(str(wanted))
        found[wanted.name] = distribution(wanted.name)
        for text in found[wanted.name].requires or []:
            needed = Requirement(text)
            extras = wanted.extras or {""}
            if needed.marker is None or any(
                needed.marker.evaluate({"extra": extra}) for extra in extras
            ):
                waiting.append(needed)
    return list(found.values())
