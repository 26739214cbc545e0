"""Measure how long a container of the service's image takes until it answers.

The container is made before, so that the time is that of its processes: from ``podman start`` until
the API and the relay answer at published ports, first on an empty volume and then again on it.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from infrastructure.local.supervisor.probes import answers_http, greets_by_smtp
from tests.container.engine import BASE, Engine, NoBaseImage, cannot_publish, make_engine, missing
from tests.free_ports import free_port
from tests.journey.service import eventually

MOST_SECONDS = 5.0
MOST_MEGABYTES = 200.0
_NAME = "bench"
_RUNS = 3


def main() -> None:
    """Print the figures with their bars, or why there are none."""
    if reason := missing() or cannot_publish():
        print(f"not measured: {reason}")
        return
    with tempfile.TemporaryDirectory() as directory:
        engine = make_engine(Path(directory))
        try:
            engine.prepare()
            image = engine.build_service()
            megabytes = (engine.size(image) - engine.size(BASE)) / 1e6
            times = [_starts(engine, image) for _ in range(_RUNS)]
        except NoBaseImage as fault:
            print(f"not measured: {fault}")
            return
        finally:
            engine.close()
    first_times, later_times = zip(*times, strict=True)
    for name, seconds in (
        ("on an empty volume", max(first_times)),
        ("again on it", max(later_times)),
    ):
        _print(f"the image is ready, {name}, after {seconds:.1f} s", seconds, MOST_SECONDS)
    _print(f"the image adds {megabytes:.0f} MB to its base", megabytes, MOST_MEGABYTES)


def _starts(engine: Engine, image: str) -> tuple[float, float]:
    """Return the seconds of a first start and of another one."""
    api_port, smtp_port = free_port(), free_port()
    ports = (f"--publish=127.0.0.1:{api_port}:8080", f"--publish=127.0.0.1:{smtp_port}:2525")
    options = (f"--name={_NAME}", f"--volume={_NAME}:/data", *ports)
    engine.run(image, {}, *options, network="bridge", verb="create")
    try:
        return _start(engine, api_port, smtp_port), _start(engine, api_port, smtp_port)
    finally:
        engine.podman("rm", "--force", "--volumes", "--time=0", _NAME)
        engine.podman("volume", "rm", "--force", _NAME)


def _start(engine: Engine, api_port: int, smtp_port: int) -> float:
    began = time.monotonic()
    engine.podman("start", _NAME)
    eventually(lambda: answers_http(api_port, "/api/v1", (200,)) and greets_by_smtp(smtp_port))
    seconds = time.monotonic() - began
    engine.podman("stop", "--time=60", _NAME)
    return seconds


def _print(text: str, value: float, bar: float) -> None:
    print(f"{text} [{'holds' if value <= bar else 'FAILS'}: {bar:g}]")


if __name__ == "__main__":
    main()
