"""Begin with the choices of a start, and import them only if there are any."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infrastructure.local.releasing.choices import ReleaseChoices

CHAOS_FILE, FORWARDING_FILE = "chaos.json", "forwarding.json"

_SETTINGS = (
    "RELEASE_HOST",
    "RELEASE_RECIPIENTS",
    "FORWARD_MATCHING",
    "FORWARD_TO",
    "LINK_CHECK_PRIVATE",
    "CHAOS",
)


def release_choices(environ: Mapping[str, str]) -> ReleaseChoices | None:
    """Return the choices of an environment, ``None`` if it has none; raises ValueError."""
    if not any(environ.get(name) for name in _SETTINGS):
        return None
    from infrastructure.local.releasing.choices import ReleaseChoices

    return ReleaseChoices.read(environ)


def begin(choices: ReleaseChoices | None, data_dir: Path) -> str:
    """Have the choices in force, and forget what others left; return a warning for people.

    Mail that arrived while nothing was forwarded must not leave when forwarding is switched on.
    """
    folder = data_dir / "mail"
    if choices is None or not choices.forward_matching:
        (folder / FORWARDING_FILE).unlink(missing_ok=True)
    if choices is None or choices.chaos is None:
        (folder / CHAOS_FILE).unlink(missing_ok=True)
    else:
        from infrastructure.local.releasing.chaos import ChaosFile

        ChaosFile(data_dir).set(choices.chaos)
    return choices.warning if choices else ""
