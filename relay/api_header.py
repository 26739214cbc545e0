"""Take the API header, `X-SVC-API: {json}`, out of an SMTP message.

The header stands in the message's own header section, never in a part's. Folded lines are joined
with one space, encoded words (RFC 2047) are decoded, and the value must be a JSON object as in a
request body (`core.strict_json`). Pure, and linear in the size of the message.
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
    """Return the options of a message (CRLF line ends), and the message without their header.

    Without such a header, returns None and the same message. Raises Refused (550 5.6.0) if the
    header cannot be read or stands in the message twice.
    """
    matches = list(_FIELD.finditer(message, 0, _header_end(message)))
    if not matches:
        return None, message
    if len(matches) > 1:
        raise refused("given more than once")
    field = matches[0]
    if len(field[1]) > _MAX_VALUE:
        raise refused(f"over {_MAX_VALUE} bytes")
    view = memoryview(message)
    rest = b"".join((view[: field.start()], view[field.end() :]))
    return read_api_options(_parse(field[1])), rest


def _header_end(message: bytes) -> int:
    """Return where the header section ends, after the CRLF of its last line."""
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
