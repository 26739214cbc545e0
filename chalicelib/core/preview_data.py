"""Limit the data that previews of a template or snippet are made with, which is stored beside it.

It may be as large as the substitution data of a transmission (spec 8).
"""

from __future__ import annotations

from typing import Any, Final

from chalicelib.core import compact_json
from chalicelib.core.errors import substitution_data_too_large

MOST_BYTES: Final = 100_000


def check_preview_data(data: dict[str, Any] | None) -> None:
    """Raise 422 with code 2002 for data over the limit; ``None`` is no data."""
    if data and len(compact_json.dumps(data)) > MOST_BYTES:
        raise substitution_data_too_large(f"preview_data exceeds the maximum of {MOST_BYTES} bytes")
