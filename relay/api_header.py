"""The API header of an SMTP message: `X-SVC-API: {json}`, taken out of the message.

Only the message's own header section is looked at, never a part's. A folded value is joined with
one space for each fold, encoded words (RFC 2047) are decoded, and the rest must be a JSON object in
UTF-8. Pure, and linear in the size of the message.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from relay.api_options import ApiOptions, read_api_options, refused
from relay.encoded_words import decode_words

API_HEADERS = (b"x-svc-api", b"x-msys-api")
_FIELD = re.compile(
    rb"^(?:" + b"|".join(API_HEADERS) + rb")[ \t]*:([^\r\n]*(?:\r\n[ \t][^\r\n]*)*)\r\n",
    re.IGNORECASE | re.MULTILINE,
)
# Room for 1,000 long addresses with names, and for everything else many times over.
_MAX_VALUE = 512 * 1024
_FOLD = re.compile(r"\r\n[ \t]+")


def take_api_header(message: bytes) -> tuple[ApiOptions | None, bytes]:
    """The options of a message (CRLF line ends) and the message without their header.

    None, and the same message, when it has no such header. Raises Refused (550 5.6.0) for a header
    that cannot be read or is there twice.
    """
    found = list(_FIELD.finditer(message, 0, _header_end(message)))
    if not found:
        return None, message
    if len(found) > 1:
        raise refused("given more than once")
    field = found[0]
    if len(field[1]) > _MAX_VALUE:
        raise refused(f"over {_MAX_VALUE} bytes")
    view = memoryview(message)
    rest = b"".join((view[: field.start()], view[field.end() :]))
    return read_api_options(_parse(field[1])), rest


def _header_end(message: bytes) -> int:
    """Where the header section ends, the CRLF of its last line included."""
    if message.startswith(b"\r\n"):
        return 0
    blank = message.find(b"\r\n\r\n")
    return len(message) if blank < 0 else blank + 2


def _parse(value: bytes) -> dict[str, Any]:
    try:
        text = decode_words(_FOLD.sub(" ", value.decode()))
        parsed = json.loads(text, parse_constant=_no_constant)
        # Refuses halves of surrogate pairs and infinite numbers, which nothing can carry further.
        json.dumps(parsed, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise refused("JSON parse error") from None
    if not isinstance(parsed, dict):
        raise refused("must be a JSON object")
    return parsed


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
