"""Kill, pause and restart the processes of a running service, in an order that a seed decides."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections import Counter
from contextlib import suppress

import psutil

from tests.journey.service import Service

#: The processes that are killed, each with its share of the faults; of a group one at a time
_KILLED = {
    "worker-1": 4,
    "worker-2": 4,
    "api": 2,
    "relay": 2,
    "sink": 2,
    "delivery": 4,
    "dns": 1,
    "cloud": 3,
    "everything": 1,
}
_PAUSED = {"worker-1": 1, "worker-2": 1}
_STOPPED = {"service": 2}
#: Seconds; the lease of a delivery worker is 24 s long on one machine
_PAUSES = (1.0, 5.0, 30.0)


class Faults:
    """The faults of a run: one every ``interval`` seconds until :meth:`end`; ``counts`` by name."""

    def __init__(self, service: Service, seed: int, interval: float = 3.0) -> None:
        self.counts: Counter[str] = Counter()
        self._service = service
        self._rng = random.Random(seed)
        self._interval = interval
        self._waking: list[threading.Timer] = []
        self._killed = {
            name: share
            for name, share in _KILLED.items()
            if name == "everything" or service.running(name)
        }

    @property
    def kills(self) -> int:
        """How many processes were killed; each may have sent a message that it did not record."""
        return sum(count for name, count in self.counts.items() if name.startswith("kill"))

    @property
    def pauses(self) -> int:
        """How often a worker stood still."""
        return sum(count for name, count in self.counts.items() if name.startswith("pause"))

    def run(self, seconds: float) -> None:
        """Cause faults for ``seconds``; at the end the service runs."""
        deadline = time.monotonic() + seconds
        kinds = {
            **{("kill", name): share for name, share in self._killed.items()},
            **{("pause", name): share for name, share in _PAUSED.items()},
            **{("stop", name): share for name, share in _STOPPED.items()},
        }
        while time.monotonic() < deadline:
            time.sleep(self._interval)
            ((action, name),) = self._rng.choices(list(kinds), list(kinds.values()))
            self.counts[f"{action} {name}"] += getattr(self, f"_{action}")(name)
        for timer in self._waking:
            timer.join()

    def _kill(self, name: str) -> int:
        if name == "everything":
            family = self._service.family()
            for process in family:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(family)
            self._service.wait()
            self._service.start()
            return 1
        processes = self._service.running(name)
        return int(bool(processes) and self._signal(self._rng.choice(processes), signal.SIGKILL))

    def _pause(self, name: str) -> int:
        seconds = self._rng.choice(_PAUSES)
        paused = [
            each for each in self._service.running(name) if self._signal(each, signal.SIGSTOP)
        ]
        for each in paused:
            timer = threading.Timer(seconds, self._signal, (each, signal.SIGCONT))
            timer.start()
            self._waking.append(timer)
        return len(paused)

    def _stop(self, name: str) -> int:
        for timer in self._waking:
            timer.join()
        self._service.stop()
        self._service.start()
        return 1

    @staticmethod
    def _signal(process: psutil.Process, number: signal.Signals) -> bool:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            return False
        return True
