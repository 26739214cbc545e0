"""Write small files that only the owner may read, each completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def replace_private(path: Path, text: str) -> None:
    """Store ``text`` at ``path`` with mode 0600, on disk when this returns."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600)
    with new.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
