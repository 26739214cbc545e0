"""Measure how long a container of the service's image takes until it answers, and catches mail.

The container is made before, so that the time is that of its processes: from ``podman start`` until
the API and the relay answer at published ports, first on an empty volume and then again on it. The
first message goes to the port that takes any mail, as soon as that takes connections. It is caught
with the reply 250, and shown when Mailpit's API finds it.
"""

from __future__ import annotations

import http.client
import smtplib
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from infrastructure.local.supervisor.probes import answers_http, greets_by_smtp
from tests.container.engine import BASE, Engine, NoBaseImage, cannot_publish, make_engine, missing
from tests.free_ports import free_port
from tests.journey.service import eventually

MOST_SECONDS = 5.0
MOST_SECONDS_TO_A_MESSAGE = 2.5
MOST_MEGABYTES = 200.0
_NAME = "bench"
_RUNS = 3
#: Seconds until a message is caught, until it is shown, and until everything is ready
_Times = tuple[float, ...]


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
    for name, starts in zip(
        ("on an empty volume", "again on it"), zip(*times, strict=True), strict=True
    ):
        caught_after, shown_after, ready = (max(each) for each in zip(*starts, strict=True))
        _print(f"the image is ready, {name}, after {ready:.1f} s", ready, MOST_SECONDS)
        text = f"the first message is caught, {name}, after {caught_after:.1f} s"
        _print(text, caught_after, MOST_SECONDS_TO_A_MESSAGE)
        print(f"and Mailpit's API shows it after {shown_after:.1f} s")
    _print(f"the image adds {megabytes:.0f} MB to its base", megabytes, MOST_MEGABYTES)


@dataclass(frozen=True, slots=True)
class _Ports:
    """The ports of this machine at which the container's are published."""

    api: int = field(default_factory=free_port)
    smtp: int = field(default_factory=free_port)
    catch: int = field(default_factory=free_port)
    mailpit: int = field(default_factory=free_port)

    def options(self) -> list[str]:
        inner = {8080: self.api, 2525: self.smtp, 1025: self.catch, 8025: self.mailpit}
        return [f"--publish=127.0.0.1:{outer}:{port}" for port, outer in inner.items()]


def _starts(engine: Engine, image: str) -> tuple[_Times, _Times]:
    """Return the times of a first start and of another one."""
    ports = _Ports()
    options = (f"--name={_NAME}", f"--volume={_NAME}:/data", *ports.options())
    engine.run(image, {}, *options, network="bridge", verb="create")
    try:
        return _start(engine, ports), _start(engine, ports)
    finally:
        engine.podman("rm", "--force", "--volumes", "--time=0", _NAME)
        engine.podman("volume", "rm", "--force", _NAME)


def _start(engine: Engine, ports: _Ports) -> _Times:
    began = time.monotonic()
    engine.podman("start", _NAME)
    with ThreadPoolExecutor() as pool:
        catching = pool.submit(_catch_a_message, ports)
        eventually(
            lambda: answers_http(ports.api, "/api/v1", (200,)) and greets_by_smtp(ports.smtp)
        )
        ready = time.monotonic()
        moments = catching.result()
    engine.podman("stop", "--time=60", _NAME)
    return tuple(moment - began for moment in (*moments, ready))


def _catch_a_message(ports: _Ports) -> tuple[float, float]:
    """Send a message as soon as it is taken; return when it was, and when it could be read."""
    subject = uuid4().hex
    text = f"From: app@shop.test\r\nTo: ann@shop.test\r\nSubject: {subject}\r\n\r\nHello\r\n"
    eventually(lambda: _sends(ports.catch, text))
    caught_at = time.monotonic()
    path = f"/api/v1/search?query=subject:{subject}"
    eventually(lambda: subject in _body(ports.mailpit, path))
    return caught_at, time.monotonic()


def _sends(port: int, text: str) -> bool:
    try:
        with smtplib.SMTP("127.0.0.1", port, timeout=5) as connection:
            connection.sendmail("app@shop.test", ["ann@shop.test"], text)
    except OSError:
        return False
    return True


def _body(port: int, path: str) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as response:
            return str(response.read(), "utf-8")
    except (OSError, http.client.HTTPException):
        return ""


def _print(text: str, value: float, bar: float) -> None:
    print(f"{text} [{'holds' if value <= bar else 'FAILS'}: {bar:g}]")


if __name__ == "__main__":
    main()
