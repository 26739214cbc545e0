"""Say to which addresses mail may go that is let out of the mailbox."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from infrastructure.local.mailbox.rows import matches_line
from infrastructure.local.mailbox.search_texts import lines_of, searched_forms

# RFC 5321 4.5.3.1: the longest path; a pattern sees no longer text
_LONGEST = 254


@dataclass(frozen=True, slots=True)
class AllowedRecipients:
    """The entries of a list: addresses, patterns of addresses with ``*``, or one ``/regex/``.

    A regular expression applies to a part of the address, as that of Mailpit does. An empty list
    allows nobody.
    """

    entries: tuple[str, ...] = ()
    expression: re.Pattern[str] | None = field(default=None, compare=False)

    @classmethod
    def read(cls, text: str) -> AllowedRecipients:
        """Read a comma-separated list, or one ``/regex/``; raises ValueError."""
        text = text.strip()
        if is_expression(text):
            try:
                return cls((text,), re.compile(text[1:-1]))
            except re.error as error:
                raise ValueError(f"{text} is no regular expression: {error}") from None
        entries = entries_of(text)
        for entry in entries:
            if "@" not in entry and entry != "*":
                raise ValueError(f"{entry!r} is no address, and no pattern such as *@example.com")
        return cls(entries)

    def admits(self, address: str) -> bool:
        """Tell whether mail may go to an address; its case does not matter."""
        if len(address) > _LONGEST:
            return False
        if self.expression is not None:
            return self.expression.search(address) is not None
        lines = lines_of(address)
        return any(
            matches_line(lines, form) for each in self.entries for form in searched_forms(each)
        )

    def beyond(self, addresses: Sequence[str]) -> list[str]:
        """Return those of some addresses to which no mail may go."""
        return [each for each in addresses if not self.admits(each)]


NOBODY = AllowedRecipients()


def is_expression(text: str) -> bool:
    """Tell whether a text stands for a regular expression: ``/regex/``."""
    return len(text) > 2 and text.startswith("/") and text.endswith("/")


def entries_of(text: str) -> tuple[str, ...]:
    """Return the entries of a comma-separated list."""
    return tuple(filter(None, (each.strip() for each in text.split(","))))
