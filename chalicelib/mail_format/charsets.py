"""Name the charsets that a message may be written in."""

from __future__ import annotations

import codecs
import re

# Python has encodings that are not charsets; some of them are slow to decode.
_CHARSET = re.compile(
    r"ascii|utf-(?:8|16|16-le|16-be|32)|iso8859-\d+|cp\d+|koi8-[rut]|mac-roman|tis-620|hz"
    r"|gb2312|gbk|gb18030|big5|big5hkscs|shift_jis|euc_(?:jp|kr)|iso2022_(?:jp|kr)"
)


def charset(name: str) -> str:
    """Return the usual name of a charset; raises ``LookupError`` if there is no such charset."""
    codec_name = codecs.lookup(name).name
    if not _CHARSET.fullmatch(codec_name):
        raise LookupError(name)
    return codec_name
