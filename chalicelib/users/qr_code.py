"""Draw a text as a QR code, without any other host."""

from __future__ import annotations

from itertools import groupby
from typing import Any

_QUIET_ZONE = 4


def draw(text: str) -> dict[str, Any]:
    """Return ``size``, the modules of a side with the quiet zone, and ``path``.

    ``path`` is the data of an SVG path that covers the dark modules of a square of ``size`` units.
    """
    import segno

    code = segno.make(text, error="m", micro=False)
    rows = list(code.matrix_iter(border=_QUIET_ZONE))
    path = "".join(_row(number, row) for number, row in enumerate(rows))
    return {"size": len(rows), "path": path}


def _row(number: int, row: Any) -> str:
    path, column = "", 0
    for is_dark, modules in groupby(row, key=bool):
        width = len(list(modules))
        if is_dark:
            path += f"M{column} {number}h{width}v1h-{width}z"
        column += width
    return path
