"""Take apart, change and check a pre-built message (spec 2.2).

A message is bytes. Call `normalise` first: all other functions expect CRLF line ends and refuse
other ones as malformed header lines. The joined fields are the header section again. Time is linear
in the size of the message.
"""

from collections.abc import Iterable, Sequence

from chalicelib.mail_format.header_rules import repeated
from chalicelib.mail_format.header_section import (
    Field,
    MessageError,
    header_fields,
    split_head,
)
from chalicelib.mail_format.mime_tree import MimePart, parse_tree
from chalicelib.mail_format.transfer_encoding import normalise_newlines

__all__ = [
    "Field",
    "MessageError",
    "append",
    "check",
    "has",
    "join",
    "normalise",
    "remove",
    "replace_field",
    "split",
]

_AMP = "text/x-amp-html"
_BESIDE_AMP = {"text/plain", "text/html"}


def normalise(message: bytes) -> bytes:
    """Return the message with lone CR and lone LF as CRLF (spec 2.2, RFC822 rule 3)."""
    return normalise_newlines(message)


def split(message: bytes) -> tuple[list[Field], bytes]:
    """Return the top-level header fields in order and the body.

    Without a blank line the message is all header. Raises MessageError on a line that is
    neither a field nor the continuation of one.
    """
    head_end, body_start = split_head(message, 0, len(message))
    return header_fields(message, 0, head_end), message[body_start:]


def join(fields: Iterable[Field], body: bytes | memoryview, *, trace: bytes = b"") -> bytes:
    """Return the message of these fields and this body, with whole lines of a ``trace`` first."""
    return b"".join([trace, *(raw for _, raw in fields), b"\r\n", body])


def has(fields: Iterable[Field], name: str) -> bool:
    """Tell whether a field of that name, in lower case, is there."""
    return any(field[0] == name for field in fields)


def remove(fields: Iterable[Field], *names: str) -> list[Field]:
    """Return the fields without those of these names, in lower case."""
    return [field for field in fields if field[0] not in names]


def append(fields: Iterable[Field], raw: bytes) -> list[Field]:
    """Return the fields with one more, encoded by `headers.encode_header`, at the end."""
    return [*fields, _field(raw)]


def replace_field(fields: Sequence[Field], raw: bytes) -> list[Field]:
    """Return the fields with `raw` in place of all fields with its name.

    It takes the place of the first one, or the end if there was none.
    """
    new = _field(raw)
    at = next((i for i, field in enumerate(fields) if field[0] == new[0]), len(fields))
    return [*fields[:at], new, *remove(fields[at:], new[0])]


def check(message: bytes) -> list[MimePart]:
    """Refuse a normalised message that breaks a rule of spec 2.2 (RFC822 rules 2, 4 and 5).

    A second header field of a name that a message has once is refused as well (RFC 5322 3.6).
    Returns its MIME tree (see `mime_tree.parse_tree`). Raises MessageError naming the fault.
    """
    _check_end_of_data(message)
    for name in repeated(name for name, _ in split(message)[0]):
        raise MessageError(f"header {name} may occur only once")
    parts = parse_tree(message)
    for part in parts:
        if part.content_type == _AMP:
            _check_amp(part, parts)
    return parts


def _field(raw: bytes) -> Field:
    (field,) = header_fields(raw, 0, len(raw))
    return field


def _check_end_of_data(message: bytes) -> None:
    """Refuse a line of one dot.

    Two leading dots do not show that a message was dot-stuffed: any message may have such a line.
    """
    if b"\r\n.\r\n" in message or message.endswith(b"\r\n.") or message.startswith(b".\r\n"):
        raise MessageError("the message contains the SMTP end-of-data sequence, a line of one dot")


def _check_amp(part: MimePart, parts: Sequence[MimePart]) -> None:
    ancestor = part.parent
    while ancestor is not None and parts[ancestor].content_type != "multipart/alternative":
        ancestor = parts[ancestor].parent
    if ancestor is None:
        raise MessageError(f"a {_AMP} part must descend from multipart/alternative")
    beside = (other.content_type for other in parts if other.parent == part.parent)
    if _BESIDE_AMP.isdisjoint(beside):
        raise MessageError(f"a {_AMP} part must sit beside a text/plain or text/html part")
