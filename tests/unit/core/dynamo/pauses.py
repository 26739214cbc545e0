"""Compare pauses that are random within bounds."""

from __future__ import annotations


def are_about(pauses: list[float], expected: list[float]) -> bool:
    """Tell whether each pause is that expected, give or take a half."""
    return len(pauses) == len(expected) and all(
        0.5 * wanted <= pause <= 1.5 * wanted
        for pause, wanted in zip(pauses, expected, strict=True)
    )
