"""Describe the result of a check by ``postfinch doctor``."""

from __future__ import annotations

from typing import NamedTuple

OK, WARNING, PROBLEM, SKIPPED = "ok", "warning", "problem", "skipped"


class Finding(NamedTuple):
    """The result of one check; ``remedy`` says what to do about a problem or a warning."""

    check: str
    status: str
    detail: str
    remedy: str = ""
