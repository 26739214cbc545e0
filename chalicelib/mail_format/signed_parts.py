"""Find the parts of a message that its author has signed, so that nobody may change them.

These are the parts within multipart/signed (RFC 1847, which serves OpenPGP and S/MIME alike), and
texts with a signature of OpenPGP in their own lines (RFC 4880 7).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from chalicelib.mail_format.mime_tree import MimePart

SIGNED = "multipart/signed"

_INLINE = re.compile(rb"^-----BEGIN PGP SIGNED MESSAGE-----[ \t]*\r?$", re.MULTILINE)


def is_sealed(message: bytes, part: MimePart, tree: Sequence[MimePart]) -> bool:
    """Tell whether a change of this part would break a signature of the author."""
    if any(each.content_type == SIGNED for each in around(part, tree)):
        return True
    return part.content_type.startswith("text/") and _is_signed_text(message, part)


def around(part: MimePart, tree: Sequence[MimePart]) -> Iterator[MimePart]:
    """Yield the multiparts around a part, from the inside out."""
    while part.parent is not None:
        part = tree[part.parent]
        yield part


def _is_signed_text(message: bytes, part: MimePart) -> bool:
    return _INLINE.search(message, part.body_start, part.end) is not None
