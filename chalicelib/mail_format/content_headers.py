"""Change the header fields that describe the body of a part (RFC 2045).

Whoever encodes a body anew must say so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from chalicelib.mail_format import rfc822
from chalicelib.mail_format.headers import encode_header
from chalicelib.mail_format.mime_tree import MimePart
from chalicelib.mail_format.rfc822 import Field

_TOKEN = re.compile(r"[!#-'*+\-.0-9A-Z^-~]+")


def is_described(fields: Sequence[Field]) -> bool:
    """Tell whether a message has any content header."""
    return any(name == "mime-version" or name.startswith("content-") for name, _ in fields)


def described(
    part: MimePart, fields: Sequence[Field], encoding: str, *, utf_8: bool
) -> list[Field]:
    """Return the fields of a part for a body in another transfer encoding.

    ``utf_8``: the body is a text in that charset now.
    """
    transfer = f"Content-Transfer-Encoding: {encoding}\r\n".encode()
    new = rfc822.replace_field(fields, transfer)
    if part.parent is None and not rfc822.has(new, "mime-version"):
        new = rfc822.append(new, b"MIME-Version: 1.0\r\n")
    if not utf_8 or part.parameters.get("charset", "").lower() == "utf-8":
        return new
    return rfc822.replace_field(new, _content_type(part))


def _content_type(part: MimePart) -> bytes:
    parameters = (
        f"{name}={value}" if _TOKEN.fullmatch(value) else f"{name}={_quoted(value)}"
        for name, value in (part.parameters | {"charset": "utf-8"}).items()
    )
    return encode_header("Content-Type", "; ".join([part.content_type, *parameters]))


def _quoted(value: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'
