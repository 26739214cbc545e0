"""Compare pauses that are random within bounds."""

from __future__ import annotations


def are_about(pauses: list[float], expected: list[float]) -> bool:
    """Tell whether each pause is within half of the expected one, more or less."""
    return len(pauses) == len(expected) and all(
        0.5 * nominal <= pause <= 1.5 * nominal
        for pause, nominal in zip(pauses, expected, strict=True)
    )
