"""Build MIME messages from parts: the tree that mail clients expect, assembled with one join.

The tree is mixed(related(alternative(text, amp, html), inline images), attachments), a level with a
single part is left out (RFC 2046 5.1, RFC 2387). Every message ends with CRLF. An attachment or
image keeps its encoded form, so an object shared by the messages of one transmission is checked and
wrapped once.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple
from unicodedata import combining, normalize
from urllib.parse import quote

from chalicelib.mail_format.content_ids import content_id, with_content_ids
from chalicelib.mail_format.text_pieces import EncodedPieces, encode_pieces
from chalicelib.mail_format.transfer_encoding import is_base64, wrap_base64

_LONGEST_NAME = 255  # bytes, spec 2.2; with it no header line below can pass 998
_LONGEST_TYPE = 900
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_TYPE = re.compile(r"[!-~][ -~]*")
_CONTENT_ID = re.compile(r"[^<>]+")
_ATTRIBUTE_SAFE = "!#$&+^`{}|~"  # attribute-char of RFC 2231 beyond letters, digits and "._-"
_SET_BY_ASSEMBLY = (b"mime-version", b"content-type", b"content-transfer-encoding")

Chunks = list[bytes]
Text = str | Sequence[str]
"""A text body, or the pieces of one."""


class MimeError(ValueError):
    """A part that a message cannot contain; the text says which and why."""


@dataclass(frozen=True)
class Attachment:
    """A file in the message: name, MIME type as the caller wrote it, base64 without line ends."""

    name: str
    type: str
    data: str

    @cached_property
    def encoded(self) -> Chunks:
        """The part with its headers, as chunks; raises MimeError (spec 2.2)."""
        return _file_part(self, "attachment", b"")


@dataclass(frozen=True)
class InlineImage:
    """A picture that the HTML part refers to as `cid:name`: name, MIME type, base64."""

    name: str
    type: str
    data: str

    @cached_property
    def encoded(self) -> Chunks:
        """The part with its headers, as chunks; raises MimeError (spec 2.2)."""
        if not _CONTENT_ID.fullmatch(self.name):
            raise MimeError(f"inline image name {self.name!r} cannot be a Content-ID")
        field = f"Content-ID: <{content_id(self.name)}>\r\n"
        return _file_part(self, "inline", field.encode("ascii"))


class UnsignedMessage(NamedTuple):
    """A message, and its body as DKIM signs it (relaxed) if building the message showed it."""

    data: bytes
    relaxed_body: bytes | None = None


def build_message(
    headers: Sequence[bytes],
    *,
    text: Text | None = None,
    html: Text | None = None,
    amp_html: Text | None = None,
    attachments: Sequence[Attachment] = (),
    inline_images: Sequence[InlineImage] = (),
    boundary_seed: str,
) -> UnsignedMessage:
    """Return the complete message: header fields, MIME-Version, content headers, body.

    `headers` are complete fields as made by `headers.encode_header`. `boundary_seed` names the
    message (its id, say): the same seed and parts give the same bytes. Raises MimeError when
    neither text nor html is there, on duplicate image names, on parts that cannot be encoded,
    and when `headers` has a field that this function writes itself (spec 2.2).
    """
    if text is None and html is None:
        raise MimeError("a message needs a text or an html part")
    if len({image.name for image in inline_images}) != len(inline_images):
        raise MimeError("inline image names are not unique")
    if html is not None and not all(image.name.isascii() for image in inline_images):
        html = with_content_ids("".join(html), [image.name for image in inline_images])
    bodies = [
        (subtype, encode_pieces([body] if isinstance(body, str) else body))
        for subtype, body in (("plain", text), ("x-amp-html", amp_html), ("html", html))
        if body is not None
    ]
    texts = [_text_part(subtype, each, each.body) for subtype, each in bodies]
    boundary = _boundary(
        boundary_seed, [each.body for _, each in bodies if each.encoding == "7bit"]
    )
    body = _multipart("alternative", boundary, texts)
    root = (
        "multipart/alternative" if len(texts) > 1 else "text/plain" if html is None else "text/html"
    )
    images = [image.encoded for image in inline_images]
    body = _multipart("related", boundary, [body, *images], f' type="{root}";')
    body = _multipart("mixed", boundary, [body, *(file.encoded for file in attachments)])
    if not body[-1].endswith(b"\r\n"):
        body.append(b"\r\n")
    _check_headers(headers)
    return UnsignedMessage(
        b"".join([*headers, b"MIME-Version: 1.0\r\n", *body]),
        None if inline_images or attachments else _relaxed_body(boundary, bodies),
    )


def _check_headers(headers: Iterable[bytes]) -> None:
    names = {header.partition(b":")[0].lower() for header in headers}
    for name in _SET_BY_ASSEMBLY:
        if name in names:
            raise MimeError(f"header {name.decode()} is set by assembly")


def _text_part(subtype: str, text: EncodedPieces, body: bytes) -> Chunks:
    head = (
        f"Content-Type: text/{subtype}; charset=utf-8\r\n"
        f"Content-Transfer-Encoding: {text.encoding}\r\n\r\n"
    )
    return [head.encode("ascii"), body]


def _relaxed_body(boundary: str, texts: Sequence[tuple[str, EncodedPieces]]) -> bytes | None:
    """Return the relaxed body of a message that has only texts, if all their forms are known."""
    parts: list[Chunks] = []
    for subtype, text in texts:
        if text.relaxed is None:
            return None
        parts.append(_text_part(subtype, text, text.relaxed))
    entity = b"".join(_multipart("alternative", boundary, parts))
    # Our heads and delimiters are relaxed as they are; blank lines at the end do not count
    return entity.partition(b"\r\n\r\n")[2].rstrip(b"\r\n") + b"\r\n"


def _boundary(seed: str, plain_bodies: Chunks) -> str:
    """Derive the common start of the boundaries; no body contains it.

    Only 7bit bodies are searched: neither quoted-printable nor base64 can contain the `=_` that
    every boundary starts with (RFC 2045 6.7).
    """
    stem = sha256(seed.encode("utf-8", "replace")).hexdigest()[:32]
    while any(stem.encode("ascii") in body for body in plain_bodies):
        stem = sha256(stem.encode("ascii")).hexdigest()[:32]
    return stem


def _multipart(subtype: str, stem: str, parts: Sequence[Chunks], parameter: str = "") -> Chunks:
    """Join parts into one multipart; a single part is returned unchanged."""
    if len(parts) == 1:
        return parts[0]
    boundary = f"=_{subtype[0]}{stem}"
    head = f'Content-Type: multipart/{subtype};{parameter}\r\n boundary="{boundary}"\r\n'
    delimiter = f"\r\n--{boundary}\r\n".encode("ascii")
    chunks = [head.encode("ascii")]
    for part in parts:
        chunks.append(delimiter)
        chunks += part
    chunks.append(f"\r\n--{boundary}--".encode("ascii"))
    return chunks


def _file_part(file: Attachment | InlineImage, disposition: str, more: bytes) -> Chunks:
    if not _TYPE.fullmatch(file.type) or len(file.type) > _LONGEST_TYPE:
        raise MimeError(f"{disposition} {file.name!r}: {file.type[:80]!r} is not a MIME type")
    if not is_base64(file.data):
        raise MimeError(f"{disposition} {file.name!r}: data is not base64 without line ends")
    head = (
        f"Content-Type: {file.type}\r\n"
        "Content-Transfer-Encoding: base64\r\n"
        f"Content-Disposition: {disposition};\r\n {_filename(file.name)}\r\n"
    )
    return [head.encode("ascii") + more + b"\r\n", *wrap_base64(file.data)]


def _filename(name: str) -> str:
    """Return the filename parameters, the exact one first: some readers take the first."""
    if not name or _CONTROL.search(name) or len(name.encode("utf-8", "replace")) > _LONGEST_NAME:
        raise MimeError(f"{name[:80]!r} is not a file name")
    if name.isascii() and "=?" not in name:
        return f'filename="{_quote(name)}"'
    exact = quote(name, safe=_ATTRIBUTE_SAFE, errors="replace")
    return f"filename*=utf-8''{exact};\r\n filename=\"{_quote(_in_ascii(name))}\""


def _in_ascii(name: str) -> str:
    """Strip accents; `_` replaces other characters, and the start of an encoded word."""
    return "".join(map(_letter_in_ascii, name)).replace("=?", "__")


def _letter_in_ascii(letter: str) -> str:
    if letter.isascii():
        return letter
    plain = normalize("NFKD", letter).encode("ascii", "ignore").decode("ascii")
    return plain or ("" if combining(letter) else "_")


def _quote(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"")
