"""Measure how long the service takes to start on this machine, and a function on AWS.

``make run`` with everything installed, from the command to the ready line: on an empty directory,
and again with what is stored there. A machine's load changes both these times and the time that a
bare Python takes to import boto3 and MiniStack, so their ratio is judged.

The cold start of the API's function is measured from its archive, in an empty interpreter.

``python -I -S`` imports the unpacked archive, with boto3 on the path as on Lambda. The process is
timed from its first line to the end of its first request. ``-X importtime`` gives the largest parts
of the import, and its cost makes them a little larger. The time of a warm request is without its
AWS requests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from chalicelib.api_keys import model as keys
from infrastructure.bootstrap import first_start
from infrastructure.package import build, host_architecture
from tests.bench.local_cloud import local_cloud
from tests.journey.service import Service

STARTS = 7
START_BAR = 450.0
WARM_BAR = 5.0
SIZE_BAR = 24.0
RUNS = 5
# Half of what it was when each process imported what it needs: 11.4, and 11.2 again
FIRST_RUN_BAR = 5.7
LATER_RUN_BAR = 5.6
PARTS = 14

# The packages that Lambda's runtime provides
RUNTIME = (
    *("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "urllib3"),
    *("six.py", "certifi"),
)

CHILD = """
import time
began = time.perf_counter()
import json, sys
sys.path[:0] = sys.argv[1:3]
import app
imported = time.perf_counter()
def request():
    return app.app({
        "path": "/api/v1/account",
        "headers": {"Authorization": sys.argv[3]},
        "requestContext": {
            "resourcePath": "/{proxy+}", "httpMethod": "GET", "requestId": "r",
            "identity": {"sourceIp": "192.0.2.1"},
        },
    }, None)
first = request()
answered, processor = time.perf_counter(), time.process_time()
assert first["statusCode"] == 200, first
from botocore.client import BaseClient
original, spent = BaseClient._make_api_call, [0.0]
def call(*arguments):
    before = time.perf_counter()
    try:
        return original(*arguments)
    finally:
        spent[0] += time.perf_counter() - before
BaseClient._make_api_call = call
warm = []
for _ in range(50):
    before, spent[0] = time.perf_counter(), 0.0
    request()
    warm.append(time.perf_counter() - before - spent[0])
print(json.dumps({
    "import": imported - began, "request": answered - imported, "warm": sorted(warm)[25],
    "modules": len(sys.modules), "processor": processor,
}))
"""


def main() -> None:
    """Print the figures of both with their bars."""
    _measure_runs()
    _measure_function()


def _measure_runs() -> None:
    imports, first_runs, later_runs = [], [], []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as directory:
            service = Service(Path(directory))
            imports.append(_seconds(_import_in_bare_python))
            first_runs.append(_seconds(service.start))
            service.stop()
            later_runs.append(_seconds(service.start))
            service.stop()
    bare = min(imports)
    print(f"a bare Python imports boto3 and MiniStack in {bare:.2f} s")
    for name, runs, bar in (
        ("on an empty directory", first_runs, FIRST_RUN_BAR),
        ("again", later_runs, LATER_RUN_BAR),
    ):
        ratio = min(runs) / bare
        verdict = "holds" if ratio <= bar else "FAILS"
        print(
            f"make run to ready, {name}: {min(runs):.2f} s, {ratio:.1f} times as long "
            f"[{verdict}: at most {bar}]"
        )


def _seconds(call: Callable[[], object]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


def _import_in_bare_python() -> None:
    subprocess.run([sys.executable, "-c", "import boto3, ministack.app"], check=True)


def _measure_function() -> None:
    with tempfile.TemporaryDirectory() as directory, local_cloud():
        root = Path(directory)
        key = keys.draw_key()
        first_start(key)
        package = build(root / "out", architecture=host_architecture(), installed=True)
        size = package.archive.stat().st_size / 1e6
        with zipfile.ZipFile(package.archive) as files:
            files.extractall(root / "code")
        starts = [_start(root, key) for _ in range(STARTS)]
        _line(f"archive {size:.1f} MB", size, SIZE_BAR)
        best = min(starts, key=lambda each: each["import"] + each["request"])
        cold = (best["import"] + best["request"]) * 1000
        print(f"import {best['import'] * 1000:.0f} ms ({best['modules']} modules), ", end="")
        print(f"first request {best['request'] * 1000:.0f} ms, ", end="")
        print(f"processor time {best['processor'] * 1000:.0f} ms with the interpreter's own start")
        _line(f"cold start {cold:.0f} ms (best of {STARTS})", cold, START_BAR)
        warm = median(each["warm"] for each in starts) * 1000
        _line(f"warm GET /account {warm:.2f} ms without AWS", warm, WARM_BAR)
        print("largest parts of the import, ms with what they import / alone:")
        for name, total, alone in _parts(root, key):
            print(f"  {total:6.1f} {alone:6.1f}  {name}")


def linked_runtime(root: Path) -> Path:
    """Make a directory under ``root`` with only the packages of Lambda's runtime."""
    runtime = root / "runtime"
    if not runtime.exists():
        runtime.mkdir()
        installed = Path(sysconfig.get_paths()["purelib"])
        for name in RUNTIME:
            (runtime / name).symlink_to(installed / name)
    return runtime


def _start(root: Path, key: str, *options: str) -> dict[str, Any]:
    return json.loads(_run(root, key, *options).stdout)


def _run(root: Path, key: str, *options: str) -> subprocess.CompletedProcess[str]:
    runtime = linked_runtime(root)
    command = [sys.executable, "-I", "-S", *options, "-c", CHILD]
    return subprocess.run(
        [*command, str(root / "code"), str(runtime), key],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LOG_FORMAT": "json", "LOG_LEVEL": "WARNING"},
    )


def _parts(root: Path, key: str) -> list[tuple[str, float, float]]:
    """Return the modules with the longest imports: name, total and own milliseconds."""
    parts: list[tuple[str, float, float]] = []
    for line in _run(root, key, "-X", "importtime").stderr.splitlines():
        if not line.startswith("import time:") or "cumulative" in line:
            continue
        alone, total, name = line.removeprefix("import time:").split("|")
        parts.append((name.strip(), int(total) / 1000, int(alone) / 1000))
    parts = [part for part in parts if "." not in part[0] or part[0].startswith("chalicelib")]
    return sorted(parts, key=lambda part: -part[1])[1 : PARTS + 1]


def _line(text: str, value: float, bar: float) -> None:
    print(f"{text}: {'ok' if value <= bar else 'OVER'} (bar {bar:g})")


if __name__ == "__main__":
    main()
