"""Measure rates of tasks in interleaved rounds, so that other load affects all of them alike."""

from collections.abc import Callable, Mapping
from statistics import median
from time import process_time


def rates(
    tasks: Mapping[str, Callable[[], object]], *, rounds: int = 15, slice_seconds: float = 0.1
) -> dict[str, float]:
    """Return calls per CPU second of each task, the median of interleaved rounds."""
    samples: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            samples[name].append(_rate(task, slice_seconds))
    return {name: median(each) for name, each in samples.items()}


class Comparison:
    """The rates of two tasks in alternating rounds, of which the fastest of each count.

    Other load on the machine, or on its host, only ever makes a round slower. Rounds of both tasks
    should last for about the same time, so that both can meet a quiet time.
    """

    def __init__(
        self, first: Callable[[], float], second: Callable[[], float], rounds: int
    ) -> None:
        self._first: list[float] = []
        self._second: list[float] = []
        tasks = [(first, self._first), (second, self._second)]
        for number in range(rounds):
            for task, results in tasks if number % 2 == 0 else reversed(tasks):
                results.append(task())

    @property
    def best(self) -> tuple[float, float]:
        """Return the best rate of each task."""
        return max(self._first), max(self._second)

    def __str__(self) -> str:
        """Return the ratio of the best rates, and the ratio of the medians."""
        first, second = self.best
        medians = median(self._first) / median(self._second)
        return f"{first / second:.2f} (of the medians {medians:.2f})"


def _rate(task: Callable[[], object], seconds: float) -> float:
    calls = 0
    started = process_time()
    while (elapsed := process_time() - started) < seconds:
        for _ in range(10):
            task()
        calls += 10
    return calls / elapsed
