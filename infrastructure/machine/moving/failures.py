"""Say in one line why a service cannot be moved."""

from __future__ import annotations


class MoveRefused(Exception):
    """The move cannot begin or go on; the text is one line that says what to do."""
