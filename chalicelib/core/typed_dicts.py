"""Declare what dictionaries hold, for the type checker and the reader only.

At run time the classes know nothing of their keys, and make plain dictionaries: a real
``TypedDict`` compiles each of its annotations, and all together would make every cold start 20 ms
longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypedDict
else:

    class TypedDict:
        """A stand-in for ``typing.TypedDict``, which has no instances either."""

        def __new__(cls, *items: Any, **more: Any) -> dict[str, Any]:
            """Return a dictionary of these items."""
            return dict(*items, **more)

        def __init_subclass__(cls, *, total: bool = True) -> None:
            """Take the options of a ``TypedDict``."""


__all__ = ["TypedDict"]
