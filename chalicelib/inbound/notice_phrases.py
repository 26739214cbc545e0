"""Load how notices announce the message that they return, in many languages, from a data file.

``notice_phrases.json`` holds phrases in lower case:

- ``copy_headings`` by language, and ``copy_titles``: lines that announce the copy; the latter may
  be the title of the notice as well;
- ``copy_beginnings``: how lines begin that announce it;
- ``attributions``: words of the lines that announce a quotation, and end with a colon;
- ``fields``: names of header fields, as mail clients write them. Those ``of_a_copy`` stand only in
  the header of a message, and not in a summary of it.

The file is read when the first notice is read: most processes never read one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_suffix(".json")

#: A heading has nothing else on its line but rules, punctuation and a few words
_BEFORE_HEADING = r"[\W_]{0,80}(?:[^\W_]{1,12}[\W_]{1,3}){0,3}"
_AFTER_HEADING = r"(?:[\W_]{1,3}[^\W_]{1,12}){0,2}[\W_]{0,80}"


@dataclass(frozen=True, slots=True)
class NoticePhrases:
    """The content of the data file; patterns are for whole lines, except ``beginning``."""

    heading: re.Pattern[str]
    title: re.Pattern[str]
    beginning: re.Pattern[str]
    attribution: re.Pattern[str]
    repeated_fields: frozenset[str]
    summary_fields: frozenset[str]
    copy_fields: frozenset[str]


@cache
def notice_phrases() -> NoticePhrases:
    """Return the phrases of the data file, read once."""
    data = json.loads(_FILE.read_text(encoding="utf-8"))
    headings = [phrase for phrases in data["copy_headings"].values() for phrase in phrases]
    fields = {kind: frozenset(names) for kind, names in data["fields"].items()}
    repeated = fields["subject"] | fields["sender"]
    return NoticePhrases(
        heading=_pattern(_BEFORE_HEADING, headings, _AFTER_HEADING),
        title=_pattern(_BEFORE_HEADING, data["copy_titles"], r"[\W_]{0,80}"),
        beginning=_pattern(r"[\W_]{0,80}", data["copy_beginnings"], ""),
        attribution=_pattern(r".{0,200}\b", data["attributions"], r".{0,80}[:：]\s*"),
        repeated_fields=repeated,
        summary_fields=repeated | fields["other"],
        copy_fields=fields["of_a_copy"],
    )


def _pattern(before: str, phrases: Iterable[str], after: str) -> re.Pattern[str]:
    words = "|".join(re.escape(phrase) for phrase in phrases)
    return re.compile(f"{before}(?:{words}){after}", re.IGNORECASE)
