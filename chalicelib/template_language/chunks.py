"""Hold the output of a part in chunks: literal text of the template, and values between it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chunks:
    """The output of a part: ``texts`` in order. ``str`` joins them.

    ``literals`` holds the texts that the template itself writes. They are the same for all
    recipients, so whoever analyses the output can remember what it learned about each of them.
    """

    texts: Sequence[str]
    literals: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return "".join(self.texts)


def literal(text: str) -> Chunks:
    """Return a text that is the same for all recipients."""
    return Chunks((text,), frozenset((text,)))
