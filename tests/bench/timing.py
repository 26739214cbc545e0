"""Measure rates of tasks in interleaved rounds, so that other load affects all of them alike."""

from collections.abc import Callable, Mapping
from operator import truediv
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
    """The rates of two tasks in rounds; each other round begins with the second of them.

    A machine may be half as fast a minute later. So the tasks are compared within each round.
    """

    def __init__(
        self, first: Callable[[], float], second: Callable[[], float], rounds: int
    ) -> None:
        self.first: list[float] = []
        self.second: list[float] = []
        tasks = [(first, self.first), (second, self.second)]
        for number in range(rounds):
            for task, results in tasks if number % 2 == 0 else reversed(tasks):
                results.append(task())

    @property
    def ratios(self) -> list[float]:
        """Return the rate of the first task in that of the second, in each round."""
        return list(map(truediv, self.first, self.second))

    def __str__(self) -> str:
        """Return the median of the ratios, and each of them."""
        each = ", ".join(f"{ratio:.2f}" for ratio in self.ratios)
        return f"{median(self.ratios):.2f}, the median of {each}"


def _rate(task: Callable[[], object], seconds: float) -> float:
    calls = 0
    started = process_time()
    while (elapsed := process_time() - started) < seconds:
        for _ in range(10):
            task()
        calls += 10
    return calls / elapsed
