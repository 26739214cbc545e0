"""Clear everything that this process remembers, with one call.

A module that keeps what it read or computed registers the function that clears it. Tests call
:func:`clear_caches` between two clouds; the service itself never does.
"""

from __future__ import annotations

from collections.abc import Callable

Clear = Callable[[], None]

_clears: list[Clear] = []


def register(clear_cache: Clear) -> Clear:
    """Let :func:`clear_caches` call ``clear_cache``; works as a decorator."""
    _clears.append(clear_cache)
    return clear_cache


def clear_caches() -> None:
    """Clear the caches of all modules that are imported."""
    for clear_cache in _clears:
        clear_cache()
