"""Measure rates of tasks in interleaved rounds, so that other load affects all of them."""

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


def alternating(tasks: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Return the rates that each task returned; every other round begins with the last of them."""
    results: dict[str, list[float]] = {name: [] for name in tasks}
    for number in range(rounds):
        for name in list(tasks)[:: -1 if number % 2 else 1]:
            results[name].append(tasks[name]())
    return results


def _rate(task: Callable[[], object], seconds: float) -> float:
    calls = 0
    started = process_time()
    while (elapsed := process_time() - started) < seconds:
        for _ in range(10):
            task()
        calls += 10
    return calls / elapsed


def verdict(holds: bool) -> str:
    """Return the word for whether a promise holds."""
    return "holds" if holds else "FAILS"
