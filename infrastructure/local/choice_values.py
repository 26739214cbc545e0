"""Read values that the user chose in the environment of the local runtime."""

from __future__ import annotations

from collections.abc import Mapping

_FLAGS = {"": False, "0": False, "false": False, "1": True, "true": True}


def flag(environ: Mapping[str, str], name: str) -> bool:
    """Return whether something is switched on; raises ValueError with one line for the user."""
    text = environ.get(name, "").strip().lower()
    if text not in _FLAGS:
        raise ValueError(f"{name}={text!r} is neither true nor false")
    return _FLAGS[text]
