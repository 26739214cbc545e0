"""Change the options of a record: what a request sets, and what it removes with null."""

from __future__ import annotations

from collections.abc import Mapping

Changes = Mapping[str, bool | None]
"""Options to set; ``None`` removes an option, so that its default applies again."""


def changed(options: Mapping[str, bool], changes: Changes) -> dict[str, bool]:
    """Return ``options`` with the changes."""
    return {name: value for name, value in {**options, **changes}.items() if value is not None}
