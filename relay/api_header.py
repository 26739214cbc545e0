"""The API header of an SMTP message: `X-SVC-API: {json}`, taken out of the message.

Only the message's own header section is looked at, never a part's. A folded value is joined with
one space for each fold, encoded words (RFC 2047) are decoded, and the rest must be a JSON object as
a request body may be (`core.strict_json`). Pure, and linear in the size of the message.
"""

from __future__ import annotations

import re
from typing import Any

from chalicelib.core import strict_json
from chalicelib.core.errors import ApiError
from chalicelib.mail_format.encoded_words import decode_words
from relay.api_options import ApiOptions, read_api_options, refused

API_HEADERS = (b"x-svc-api", b"x-msys-api")
_FIELD = re.compile(
    rb"^(?:" + b"|".join(API_HEADERS) + rb")[ \t]*:([^\r\n]*(?:\r\n[ \t][^\r\n]*)*)\r\n",
    re.IGNORECASE | re.MULTILINE,
)
# Room for 1,000 long addresses with names, and for everything else many times over.
_MAX_VALUE = 512 * 1024
_FOLD = re.compile(r"\r\n[ \t]+")
_REQUEST = "Problems parsing request as json: "


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
        parsed = strict_json.loads(decode_words(_FOLD.sub(" ", value.decode())).encode())
    except ValueError as fault:
        raise refused(f"JSON parse error: {fault}") from None
    except ApiError as fault:
        reason = fault.errors[0]["description"].removeprefix(_REQUEST)
        raise refused(f"JSON parse error: {reason}") from None
    if not isinstance(parsed, dict):
        raise refused("must be a JSON object")
    return parsed
