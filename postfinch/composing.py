"""Build the body of ``POST /transmissions`` from what a person writes: addresses, texts, files."""

from __future__ import annotations

import base64
import email
import email.policy
import json
import mimetypes
from collections.abc import Iterable, Sequence
from email.utils import formataddr, getaddresses
from pathlib import Path

from postfinch.json_types import Json

_ANY_TYPE = "application/octet-stream"
_RECIPIENT_FIELDS = ("to", "cc", "bcc")


class BadInput(ValueError):
    """An argument, or the file that it names, cannot be used; the text says why."""


def text_of(argument: str | None) -> str | None:
    """Return an argument, or the text of the file that it names after ``@``."""
    if argument is None or not argument.startswith("@"):
        return argument
    return _decoded(read_file(Path(argument[1:])), argument[1:])


def object_of(name: str, argument: str | None) -> Json:
    """Return the JSON object of an argument or its file; empty if there is none."""
    text = text_of(argument)
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise BadInput(f"{name} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise BadInput(f"{name} must be a JSON object")
    return value


def headers_of(lines: Iterable[str]) -> dict[str, str]:
    """Return the headers of lines ``Name: value``."""
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise BadInput(f"--header must be 'Name: value', which {line!r} is not")
        headers[name.strip()] = value.strip()
    return headers


def file_of(path: Path, name: str | None = None) -> Json:
    """Return a file as an attachment; its MIME type is guessed from its name."""
    kind, encoding = mimetypes.guess_type(path.name)
    return {
        "name": name or path.name,
        "type": kind if kind and not encoding else _ANY_TYPE,
        "data": base64.b64encode(read_file(path)).decode(),
    }


def recipients_of(to: Sequence[str], cc: Sequence[str], bcc: Sequence[str]) -> list[Json]:
    """Return each address once, in this order; copies show whom the message is to."""
    to_pairs = _pairs(to)
    visible = ", ".join(address for _, address in to_pairs)
    recipients: dict[str, Json] = {}
    for name, address in to_pairs:
        recipients.setdefault(address, {"email": address} | ({"name": name} if name else {}))
    for _, address in (*_pairs(cc), *_pairs(bcc)):
        header_to = {"header_to": visible} if visible else {}
        recipients.setdefault(address, {"email": address} | header_to)
    return [{"address": each} for each in recipients.values()]


def address_list(values: Sequence[str]) -> str:
    """Return addresses as a header field has them."""
    return ", ".join(formataddr(pair) for pair in _pairs(values))


def raw_message(data: bytes, source: str) -> tuple[str, list[str]]:
    """Return a message of RFC 822 as text, and the addresses in its To, Cc and Bcc."""
    text = _decoded(data, source, "; encode its parts with base64 or quoted-printable")
    headers = email.message_from_bytes(data, policy=email.policy.default)
    addresses = [
        each.addr_spec
        for name in _RECIPIENT_FIELDS
        for value in headers.get_all(name, [])
        for each in getattr(value, "addresses", ())
    ]
    return text, list(dict.fromkeys(filter(None, addresses)))


def present(fields: Json) -> Json:
    """Return the fields that have a value; ``False`` is one, and an empty object is not."""
    return {name: value for name, value in fields.items() if value not in (None, "", {}, [])}


def read_file(path: Path) -> bytes:
    """Return the content of a file; raises BadInput."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None


def _decoded(data: bytes, source: str, remedy: str = "") -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{source} is not UTF-8 at byte {error.start}{remedy}") from None


def _pairs(values: Sequence[str]) -> list[tuple[str, str]]:
    """Return name and address of each; a text that is no address stays as it is."""
    pairs = []
    for value in values:
        parsed = [pair for pair in getaddresses([value]) if pair[1]]
        pairs += parsed or [("", value)]
    return pairs
