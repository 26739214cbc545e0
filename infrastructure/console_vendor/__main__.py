"""Build `console/vendor/` from npm packages: ``python -m infrastructure.console_vendor``.

Nobody needs this to run, test or deploy: the results are in the repository, and a test compares
them with their SHA-256 in `vendor.lock.json`. It needs ``npm``. The lock names each package with
its version and npm's integrity, which is checked before anything of it is read. No script of a
package runs. esbuild bundles each entry of ``entries/``; the same lock gives the same bytes.

A package whose lock entry has no integrity yet gets the one of the registry.
"""

from __future__ import annotations

import base64
import hashlib
import json
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from chalicelib.core.json_types import Json
from infrastructure.console_vendor.client_support import client_support

ROOT = Path(__file__).resolve().parents[2]
VENDOR = ROOT / "console" / "vendor"
LOCK = VENDOR / "vendor.lock.json"
ENTRIES = Path(__file__).parent / "entries"
ESBUILD = f"@esbuild/{platform.system().lower()}-" + (
    "arm64" if platform.machine() in ("arm64", "aarch64") else "x64"
)
_ICONS = "lucide-static"
_CLIENT_SUPPORT = "caniemail"
#: What is in a package beside its own code: its licence
_DATA_LICENCES = {_CLIENT_SUPPORT: ENTRIES / "caniemail-data-licence.txt"}
_LICENCE = re.compile(r"licen[cs]e", re.IGNORECASE)


class VendorFailed(RuntimeError):
    """The files could not be built."""


def build() -> list[str]:
    """Write the files and their digests; return the names of the files."""
    lock: Json = json.loads(LOCK.read_text())
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        for package in [*lock["packages"], *_tools(lock)]:
            _install(package, work)
        for name in lock["bundles"]:
            _bundle(name, work)
        icons = _icons(work / "node_modules" / _ICONS / "icons")
        (VENDOR / "icons.js").write_text(icons)
        shutil.copyfile(work / "node_modules/uplot/dist/uPlot.min.css", VENDOR / "uplot.css")
        data = work / "node_modules" / _CLIENT_SUPPORT / "data" / "caniemail.json"
        (VENDOR / "caniemail.json").write_text(client_support(json.loads(data.read_text())))
        (VENDOR / "LICENCES.txt").write_text(_licences(lock["packages"], work))
    lock["sha256"] = digests()
    LOCK.write_text(json.dumps(lock, indent=1) + "\n")
    return list(lock["sha256"])


def digests() -> dict[str, str]:
    """Return the SHA-256 of each file of others. The lock and the types beside them are our own."""
    files = [each for each in VENDOR.iterdir() if each != LOCK and each.suffix != ".ts"]
    return {each.name: digest(each) for each in sorted(files)}


def digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _tools(lock: Json) -> list[Json]:
    tools: list[Json] = [each for each in lock["tools"] if each["name"] == ESBUILD]
    if not tools:
        raise VendorFailed(f"the lock has no {ESBUILD}")
    return tools


def _install(package: Json, work: Path) -> None:
    """Download a package, check it, and unpack it as npm would, without running anything."""
    name = f"{package['name']}@{package['version']}"
    command = ["npm", "pack", "--ignore-scripts", "--json", "--pack-destination", str(work), name]
    done = subprocess.run(command, capture_output=True, text=True, cwd=work)
    if done.returncode:
        raise VendorFailed(f"npm pack {name}: {done.stderr}")
    archive = work / json.loads(done.stdout)[0]["filename"].replace("@", "").replace("/", "-")
    integrity = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if package.setdefault("integrity", f"sha512-{integrity}") != f"sha512-{integrity}":
        raise VendorFailed(f"{name} is not the package that the lock names")
    target = work / "node_modules" / package["name"]
    with tarfile.open(archive) as files:
        files.extractall(work / "unpacked", filter="data")
    target.parent.mkdir(parents=True, exist_ok=True)
    top = next((work / "unpacked").iterdir())
    top.rename(target)
    package["licence"] = json.loads((target / "package.json").read_text())["license"]


def _bundle(name: str, work: Path) -> None:
    shutil.copyfile(ENTRIES / name, work / name)
    command = [str(work / "node_modules" / ESBUILD / "bin" / "esbuild"), name]
    command += ["--bundle", "--minify", "--format=esm", "--target=es2022", "--legal-comments=none"]
    done = subprocess.run(
        [*command, f"--outfile={VENDOR / name}"], capture_output=True, text=True, cwd=work
    )
    if done.returncode:
        raise VendorFailed(f"esbuild {name}: {done.stderr}")


def _icons(folder: Path) -> str:
    """Return a module with the shapes of the icons that ``entries/icons.txt`` names."""
    shapes = {}
    for name in (ENTRIES / "icons.txt").read_text().split():
        drawing = (folder / f"{name}.svg").read_text()
        inside = drawing.partition("<svg")[2].partition(">")[2].rpartition("</svg>")[0]
        shapes[name] = re.sub(r"\s+", " ", inside).replace(" />", "/>").replace("> <", "><").strip()
    lines = [f"  {json.dumps(name)}: {json.dumps(shapes[name])}," for name in sorted(shapes)]
    return "\n".join(["export const icons = {", *lines, "};", ""])


def _licences(packages: list[Json], work: Path) -> str:
    texts = []
    for package in sorted(packages, key=lambda each: str(each["name"])):
        folder = work / "node_modules" / package["name"]
        files = sorted(each for each in folder.iterdir() if _LICENCE.match(each.name))
        text = files[0].read_text().strip() if files else f"Licence: {package['licence']}"
        texts.append(f"{package['name']} {package['version']}\n\n{text}\n")
        if extra := _DATA_LICENCES.get(package["name"]):
            texts.append(extra.read_text())
    return f"\n{'=' * 80}\n\n".join(texts)


def main() -> int:
    """Build, and say what was built."""
    try:
        names = build()
    except VendorFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    for name in names:
        print(f"{name}: {(VENDOR / name).stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
