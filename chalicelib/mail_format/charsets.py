"""Charsets that a message may be written in."""

from __future__ import annotations

import codecs
import re

# Python knows encodings that are no charsets, some of them slow to decode.
_CHARSET = re.compile(
    r"ascii|utf-(?:8|16|16-le|16-be|32)|iso8859-\d+|cp\d+|koi8-[rut]|mac-roman|tis-620|hz"
    r"|gb2312|gbk|gb18030|big5|big5hkscs|shift_jis|euc_(?:jp|kr)|iso2022_(?:jp|kr)"
)


def charset(name: str) -> str:
    """Return the usual name of a charset; raises ``LookupError`` for what is none."""
    found = codecs.lookup(name).name
    if not _CHARSET.fullmatch(found):
        raise LookupError(name)
    return found
