"""Repair what makes the XML of some reporters ill-formed, without touching its elements.

- Blanks before the declaration are left out, and the declaration itself: the character set is known
  from the text.
- An ampersand that begins no reference, and a less-than sign that begins no tag, stand for
  themselves, as in ``AT&T``. So do references to characters that XML does not have.
- Characters that XML does not have are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

#: Characters at the end of a piece that may be the beginning of a reference
_LONGEST_REFERENCE = 12

_DECLARATION = re.compile(r"[\x00-\x20\ufeff]*(?:<\?xml\s[^>]{0,900}>)?", re.IGNORECASE)
_UNUSABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REPLACEMENT = "\ufffd"
_BARE_AMPERSAND = re.compile(
    r"&(?!(?:amp|lt|gt|quot|apos|#0{0,4}(?:9|10|13|3[2-9]|[4-9]\d|[1-9]\d{2,3}|[1-4]\d{4}|1\d{5})|"
    r"#x0{0,4}(?:[9ad]|[2-9a-f][\da-f]|[1-9a-c][\da-f]{2,3}|[1-9a-f][\da-f]{4}));)",
    re.IGNORECASE | re.ASCII,
)
_BARE_LESS_THAN = re.compile(r"<(?![^\W\d]|[:/!?])")


def without_declaration(texts: Iterable[str]) -> Iterator[str]:
    """Yield a document without its XML declaration, and without blanks before that."""
    for number, text in enumerate(texts):
        yield text if number else _DECLARATION.sub("", text, count=1)


def repaired(texts: Iterable[str]) -> Iterator[str]:
    """Yield a document in which all that is no markup is text."""
    rest = ""
    for text in texts:
        text, end = rest + text, len(rest + text)
        for sign in "&<":
            begin = text.rfind(sign, max(0, end - _LONGEST_REFERENCE))
            end = begin if begin >= 0 else end
        rest = text[end:]
        yield _repaired(text[:end])
    yield _repaired(rest)


def _repaired(text: str) -> str:
    text = _BARE_AMPERSAND.sub("&amp;", _UNUSABLE.sub(_REPLACEMENT, text))
    return _BARE_LESS_THAN.sub("&lt;", text)
